// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/ir/graph.h"

namespace casync::compll {

/// No value is outside of these ends, NaN aside.
struct Range {
  double least = 0, most = 0;
  bool may_be_nan = false;
};

/// For each value what is known of it from what it is made of.
std::vector<Range> ranges_of(const Graph& graph);

}  // namespace casync::compll
