// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// Writes the function that computes a tile of the gradient from the decoded one and the states, for a plan with a
/// result.
void write_result(const CpuTiles& plan, Writer& out);

}  // namespace casync::compll
