// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/diagnostic.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// Writes struct Codec, whose members encode: statistics, encode, end; and struct CodecOfSums if sums are encoded
/// otherwise. Returns their launch parameters. Throws CannotWriteCuda.
cuda::Shape write_cuda_encoders(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
