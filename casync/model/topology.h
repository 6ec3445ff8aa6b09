// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/units.h"

namespace casync {

/// Who takes part: ranks 0 .. ranks - 1, and the node each one runs on.
struct Topology {
  int ranks = 1;
  std::vector<int> node_of;  ///< one entry per rank; empty: all on one node

  static Topology flat(int ranks) { return {ranks, {}}; }
};

}  // namespace casync
