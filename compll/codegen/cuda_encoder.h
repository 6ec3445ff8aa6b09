// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/writer.h"
#include "compll/ir/lower.h"
#include "compll/lang/diagnostic.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// The members of struct Codec that encode: statistics, encode, end. How they are to be launched. Throws
/// CannotWriteCuda.
cuda::Shape write_cuda_encoder(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
