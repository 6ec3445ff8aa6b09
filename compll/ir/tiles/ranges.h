// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

/// The ends of a value's range; a NaN is not counted.
struct Range {
  double least = 0, most = 0;
  bool may_be_nan = false;
};

/// The range of each value, derived from its operands.
std::vector<Range> ranges_of(const Graph& graph);

}  // namespace casync::compll
