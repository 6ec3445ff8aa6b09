// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/writer.h"
#include "compll/ir/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// struct Result: four neighbours of what was decoded become those of the gradient, and states what they become. Throws
/// CannotWriteCuda.
void write_cuda_result(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
