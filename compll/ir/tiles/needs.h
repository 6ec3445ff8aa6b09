// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

/// A bool that is made of parameters and constants only.
struct Condition {
  ValueId value = 0;
  bool holds = true;  ///< true: the value has to be true; false: it has to be false

  bool operator==(const Condition&) const = default;
};

/// The condition of each value without which no result uses it, as only one branch of a choice needs it. A choice
/// within a branch of another one counts as part of the outer one.
std::vector<std::optional<Condition>> needed_if(const Graph& graph, const std::vector<ValueId>& results);

}  // namespace casync::compll
