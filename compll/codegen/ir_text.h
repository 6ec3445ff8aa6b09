// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// The text that `compllc --emit=ir` prints: a program between its typed tree and code. If it can be taken apart into
/// tiles, the graph of each routine. Else the reason, and the steps of each routine. A program that exchanges: the
/// steps of each turn, and what it keeps for later ones.
std::string ir_text(const Program& program, const Source& source);

/// The text that follows it: the plan of each target, or the reason why it has none: by tiles, in vector form, or by
/// turns. The turns of a program that exchanges have a plan for a GPU only.
std::string plans_text(const Program& program, const Source& source);

}  // namespace casync::compll
