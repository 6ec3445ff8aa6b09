// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll::cpu_turns {

/// Lays out what the turn is called with: the gradient, states, what was exchanged, and what earlier turns have stored.
void plan_inputs(Turn& plan);

/// Lays out the steps in their order. Throws CannotPlan.
void plan_steps(Turn& plan);

/// Lays out what is handed on: the operand of the exchange, or states and the result. Throws CannotPlan.
void plan_results(Turn& plan);

}  // namespace casync::compll::cpu_turns
