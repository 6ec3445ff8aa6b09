// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// Writes struct Result: it computes four neighbours of the gradient from decoded ones, and the new states. Throws
/// CannotWriteCuda.
void write_cuda_result(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
