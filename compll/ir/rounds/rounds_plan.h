// SPDX-License-Identifier: Apache-2.0
//
// A routine that exchanges, divided into turns.
#pragma once

#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

/// The steps of one turn: those that its result needs, and whose values no earlier turn has kept.
struct TurnPlan {
  std::vector<const Step*> steps;  ///< in order
  const Term* given = nullptr;     ///< the operand of its exchange, or the result
};

struct RoundsPlan {
  std::vector<TurnPlan> turns;         ///< one more than there are exchanges
  std::vector<VariableId> exchanged;   ///< the result of each exchange
  std::vector<VariableId> stored;      ///< values that a turn keeps for later ones, in the order of the program
  std::vector<std::size_t> stored_in;  ///< the turn that makes each of them
};

/// Plans the turns. Keeps values that cost more to compute than to read: maps of several arrays of n, products, sums.
RoundsPlan plan_rounds(const Program& program);

}  // namespace casync::compll
