// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// The text that `compllc --emit=ir` prints: a program between its typed tree and code. If it can be taken apart into
/// tiles, the graph of each routine. Else the reason, and for each routine its steps and the loops over all elements
/// that they become. A program that exchanges: the steps of each turn, and what it keeps for later ones. Unimplemented,
/// with the place: the program is interpreted only.
Result<std::string> ir_text(const Program& program, const Source& source);

/// The text that follows it: the plan by tiles of a CPU and of a GPU, or the reason why a target has none. "" for a
/// program that is not taken apart into tiles.
std::string tile_plans_text(const Program& program, const Source& source);

}  // namespace casync::compll
