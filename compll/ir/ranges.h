// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/ir/graph.h"

namespace casync::compll {

/// No value of an integer is outside of these ends.
struct Range {
  double least = 0, most = 0;
};

/// For each value what is known of it from what it is made of. Of what is no integer, nothing: 0 to 0.
std::vector<Range> ranges_of(const Graph& graph);

}  // namespace casync::compll
