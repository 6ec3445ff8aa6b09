// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "casync/planner/search/evaluator.h"
#include "casync/planner/search/request.h"

namespace casync {

/// Part of a step by which predictions err on a quiet machine: of two plans that differ by less the simpler one wins.
inline constexpr double kNoDifference = 0.01;

/// The partitions of gradient `at` if a plan that decides the rest of `decision` says nothing of them.
int usual_partitions(Evaluator& evaluator, std::size_t at, const Decision& decision);

/// Gives fields of a found step, whose simulation is `simulation`, the values of a plan that leaves them out. With all
/// ranks simulated strategies, and then partitions, may each lengthen the step by kNoDifference; otherwise, and for
/// fusion, the step gets no longer. Fields with a limit stay. Errors as Evaluator::judge.
Status prefer_usual(Evaluator& evaluator, bool all_ranks, PlannedStep& step, Simulation& simulation);

}  // namespace casync
