// SPDX-License-Identifier: Apache-2.0
//
// Text for programs that exchange within a step: one function for each turn.
#pragma once

#include <vector>

#include "compll/codegen/text/writer.h"
#include "compll/ir/loops.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Writes the functions of GeneratedRounds; returns the loops over all elements of each turn. Throws CannotWrite.
std::vector<FunctionLoops> write_rounds(const Program& program, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
