// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/cuda/driver_api.h"

namespace casync::compll::emulated {

/// CUDA's driver with one device, which is this host. A module has all kernels that this program was linked with, by
/// their names, whatever its machine code says.
const DriverApi& driver();

/// Lets the next call of a function that launches or copies fail, and those after it, as after an illegal access of a
/// kernel.
void break_device();
/// Undoes break_device.
void mend_device();
/// Sets the number of devices that the driver shows.
void set_device_count(int count);

}  // namespace casync::compll::emulated
