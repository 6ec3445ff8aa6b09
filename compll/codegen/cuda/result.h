// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// Writes struct Result: it computes four neighbours of the gradient from decoded ones, and the new states.
void write_cuda_result(const Program& program, const CudaResult& plan, Writer& out);

}  // namespace casync::compll
