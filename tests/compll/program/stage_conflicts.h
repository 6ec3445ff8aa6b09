// SPDX-License-Identifier: Apache-2.0
//
// The order in which a launch's works read and write memory.
#pragma once

#include <string>
#include <vector>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// Returns a line for each access to memory that may come too early or too late: tiles wait for each other between two
/// stages, and within a stage a tile sees the elements of its own share alone. `Ready` of the plan's values, by which
/// the stages were chosen, is not looked at.
///
///   stage 1, work 0 and stage 1, work 2: other shares of top_1
///   stage 0, work 1: reads top_1 ahead of stage 1, work 0
///   stage 0, work 1: reads top_1, which nothing writes
///   stage 4, work 2: reads state 0 after it is changed
///
/// A work is counted within its stage, those of the last tile after all others.
std::vector<std::string> stage_conflicts(const Routine& routine);

}  // namespace casync::compll::cuda_vector
