// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compll/codegen/cuda/codec_text.h"
#include "compll/cuda/driver_api.h"
#include "runtime/device/device.h"

namespace casync::runtime {

/// Machine code of a codec's kernels for an architecture as `sm_90`.
using CubinsOf =
    std::function<Result<std::vector<std::string>>(const compll::CudaCodecText& text, const std::string& architecture)>;

/// A GPU by its driver: the device of this index among those that the driver shows this process. Unavailable: there is
/// none, or the driver does not start; says what the driver says.
Result<std::unique_ptr<Device>> make_cuda_device(const compll::DriverApi& api, int index, CubinsOf cubins_of);

}  // namespace casync::runtime
