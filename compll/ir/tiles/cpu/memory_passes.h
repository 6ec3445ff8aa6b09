// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/ir/loops.h"
#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// The loops over all elements that each function of the plan runs if the caller keeps what the program declares, and
/// the bytes that they move, with the parameters' initial values and many elements. A merge is of `merged` payloads.
std::vector<FunctionLoops> loops_of(const CpuTiles& plan, const Source& source, int merged);

/// The program's words for the reductions that end the first pass: "`top` (line 9), `least` (line 10)".
std::string reductions_of_first_pass(const CpuEncoder& plan, const Source& source);

}  // namespace casync::compll
