// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// The condition for which this value is 1 and else 0, or the value itself.
ValueId as_bool(const Graph& graph, ValueId id);

/// Finds how each reduction is fed, and the one that says if all elements are finite. Throws CannotPlan: a reduction
/// that loops over a tile do not have, or more of them than fit the state of the whole vector.
void plan_reductions(CpuEncoder& plan);

/// Checks that loops, and functions to reduce by, have all operations on doubles of each element. Throws CannotPlan.
void check_doubles(const Graph& graph, const Schedule& schedule);

}  // namespace casync::compll
