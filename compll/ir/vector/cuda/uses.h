// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// Counts the uses of each variable. Steps without uses use nothing.
void count_uses(Routine& plan);
/// Uses of all results of a step.
std::size_t uses_of(const Routine& plan, const compll::Step& step);

/// Finds the reductions that not all parameters need.
void find_conditions(Routine& plan);

/// The variable that this one is another name of.
VariableId made_as(const Routine& plan, VariableId id);

/// The variables that a turn keeps for later ones and for the next step.
std::vector<VariableId> kept_by_turn(const Routine& plan);
/// The operand of a turn's exchange, or the result.
const Term& given_by_turn(const Routine& plan);
bool is_last_turn(const Routine& plan);

}  // namespace casync::compll::cuda_vector
