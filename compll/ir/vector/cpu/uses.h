// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

/// Counts the uses of each variable. Steps without uses use nothing.
void count_uses(Routine& plan);
/// Uses of all results of a step.
std::size_t uses_of(const Routine& plan, const Step& step);

/// Finds the scatters into an array of n elements: each begins as a copy of it, which the loop that makes the array can
/// write.
void find_copies(Routine& plan);

}  // namespace casync::compll::cpu_vector
