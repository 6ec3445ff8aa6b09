// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace casync::runtime {

/// CUDA device `index`. kUnimplemented in builds without CUDA.
Result<std::unique_ptr<Device>> make_cuda_device(int index);

}  // namespace casync::runtime
