// SPDX-License-Identifier: Apache-2.0
//
// Computations that take a program many operations and a machine one.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

struct Idiom {
  std::string_view function;  ///< the function of compll/ops/cpu that computes the value
  ValueId argument = 0;       ///< its argument
};

/// The idioms of a graph.
struct Idioms {
  std::map<ValueId, Idiom> values;
  std::set<ValueId> replaced;  ///< values that nothing else uses any more
};

/// Finds idioms among the values of elements that `results` need. Compares operation by operation: a program that says
/// the same in other words computes it by its own operations.
Idioms idioms_of(const Graph& graph, const std::vector<ValueId>& results);

}  // namespace casync::compll
