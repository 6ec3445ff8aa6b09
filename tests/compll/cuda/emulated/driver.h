// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/cuda/driver_api.h"

namespace casync::compll::emulated {

/// CUDA's driver with one device, which is this host. A module has all kernels that this program was linked with, by
/// their names, whatever its machine code says.
const DriverApi& driver();

/// The next call of a function that launches or copies fails, as after an illegal access of a kernel: those behind it,
/// too.
void break_device();
/// It is well again.
void mend_device();
/// How many devices the driver shows.
void set_device_count(int count);

}  // namespace casync::compll::emulated
