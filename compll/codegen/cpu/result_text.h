// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// Writes the function that computes a tile of the gradient from the decoded one and the states. Throws CannotWrite.
void write_result(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
