// SPDX-License-Identifier: Apache-2.0
//
// Text for programs that exchange within a step: one function for each turn.
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll {

/// Writes the functions of GeneratedRounds.
void write_rounds(const cpu_turns::Plan& plan, Writer& out);

}  // namespace casync::compll
