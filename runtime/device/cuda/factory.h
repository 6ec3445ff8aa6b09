// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace casync::runtime {

/// CUDA device `index` of this machine's driver, whose kernels NVRTC compiles. Unavailable: no driver or one that is
/// too old, no such device; says what to look for.
Result<std::unique_ptr<Device>> make_cuda_device(int index);

}  // namespace casync::runtime
