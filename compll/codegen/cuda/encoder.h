// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// Writes struct Codec, whose members encode: statistics, encode, end; and struct CodecOfSums if sums are encoded
/// otherwise.
void write_cuda_encoders(const CudaTiles& plan, Writer& out);

}  // namespace casync::compll
