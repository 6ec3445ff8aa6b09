// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

/// One flag for each value of a graph.
using ValueFlags = std::vector<bool>;

/// These values, and all that they are made of.
ValueFlags below(const Graph& graph, ValueFlags flags);

/// The values of `domain` that these are made of, found without leaving the domain.
ValueFlags below(const Graph& graph, const std::vector<ValueId>& targets, Domain domain);

/// The tensor's values that these need: of a reduction the initial value, not the elements, which are over.
ValueFlags tensor_values_below(const Graph& graph, const std::vector<ValueId>& targets);

/// The flagged values, in order.
std::vector<ValueId> flagged(const ValueFlags& flags);

/// Returns true if the value is a random number.
bool is_random(const Value& value);

}  // namespace casync::compll
