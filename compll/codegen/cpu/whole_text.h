// SPDX-License-Identifier: Apache-2.0
//
// Text for programs that need a whole vector at once: that select, sort, rotate or keep states. Each statement becomes
// one line or one function of an element; the compiler joins the ones that are used once.
#pragma once

#include <vector>

#include "compll/codegen/text/loops.h"
#include "compll/codegen/text/writer.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Returns true if the decoded vector is zeros with values at places.
bool gives_list(const Program& program);

/// Writes the functions of GeneratedWhole that the program has; returns the loops over all elements of each. Throws
/// CannotWrite.
std::vector<FunctionLoops> write_whole(const Program& program, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
