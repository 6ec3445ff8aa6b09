// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// Plans decode: no reductions, no random numbers. Throws CannotPlan.
CudaDecoder plan_cuda_decoder(const DecodeGraph& decode);

/// Plans result.
CudaResult plan_cuda_result(const ResultGraph& result);

}  // namespace casync::compll
