// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace casync::runtime {

/// The CPU as a device.
std::unique_ptr<Device> make_host_device();

}  // namespace casync::runtime
