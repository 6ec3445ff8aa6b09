// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/writer.h"
#include "compll/ir/lower.h"
#include "compll/lang/diagnostic.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// struct Codec, whose members encode: statistics, encode, end; and where a sum is encoded otherwise struct
/// CodecOfSums. How they are to be launched. Throws CannotWriteCuda.
cuda::Shape write_cuda_encoders(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
