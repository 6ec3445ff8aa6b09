// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace casync::runtime {

/// The number of CUDA devices that this machine's driver shows the process. Unavailable: as make_cuda_device, or none.
Result<int> count_cuda_devices();

/// CUDA device `index` of this machine's driver, whose kernels NVRTC compiles. Unavailable: no driver or one that is
/// too old, no such device; says what to look for.
Result<std::unique_ptr<Device>> make_cuda_device(int index);

}  // namespace casync::runtime
