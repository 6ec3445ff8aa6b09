// SPDX-License-Identifier: Apache-2.0
//
// What programs say in many operations and a machine does in one.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "compll/ir/graph.h"

namespace casync::compll {

struct Idiom {
  std::string_view function;  ///< of compll/ops/cpu that gives the value
  ValueId argument = 0;       ///< of this one
};

/// The idioms of a graph.
struct Idioms {
  std::map<ValueId, Idiom> values;
  std::set<ValueId> replaced;  ///< what nothing else is made of any more
};

/// Finds them among the values of elements that `results` are made of. They are compared operation by operation: a
/// program that says the same in other words computes it in its own.
Idioms idioms_of(const Graph& graph, const std::vector<ValueId>& results);

}  // namespace casync::compll
