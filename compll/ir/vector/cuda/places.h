// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// Chooses where states, operands of exchanges and values that a turn keeps are made: at their addresses, if they are
/// made in memory at all. An array that becomes one of them by a change at some places is made there, too, and changed
/// where it lies.
void choose_places(Routine& plan);

/// Returns true if the step is such a change.
bool is_changed(const Routine& plan, const compll::Step& step);

}  // namespace casync::compll::cuda_vector
