// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "compll/ir/graph.h"

namespace casync::compll {

/// A bool that is made of parameters and constants alone.
struct Condition {
  ValueId value = 0;
  bool holds = true;  ///< whether it has to be true, or false

  bool operator==(const Condition&) const = default;
};

/// For each value the condition without which nothing asks for it: it is needed for one branch of a choice only. A
/// choice within a branch of another counts as one of the outer one.
std::vector<std::optional<Condition>> needed_if(const Graph& graph, const std::vector<ValueId>& results);

}  // namespace casync::compll
