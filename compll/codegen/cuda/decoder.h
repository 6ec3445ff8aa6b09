// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// Writes struct Decoder: from the sections of one payload to four neighbours.
void write_cuda_decoder(const Program& program, const CudaDecoder& plan, Writer& out);

}  // namespace casync::compll
