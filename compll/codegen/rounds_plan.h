// SPDX-License-Identifier: Apache-2.0
//
// A routine that exchanges, taken apart into turns.
#pragma once

#include <set>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

/// What one turn computes: the steps that what it hands out is made of, and that no turn before it has kept.
struct TurnPlan {
  std::vector<const Step*> steps;  ///< in their order
  const Term* given = nullptr;     ///< what it hands to its exchange, or what is the result
};

struct RoundsPlan {
  std::vector<TurnPlan> turns;         ///< one more than there are exchanges
  std::vector<VariableId> exchanged;   ///< what each exchange becomes
  std::vector<VariableId> stored;      ///< what a turn keeps for later ones, in the order of the program
  std::vector<std::size_t> stored_in;  ///< the turn that makes each of them
};

/// Kept is what costs more to compute again than to read: a map of more than one array of n elements, products, sums.
RoundsPlan plan_rounds(const Program& program);

}  // namespace casync::compll
