// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/planner/search/request.h"

namespace casync::test {

/// Gradients of mixed sizes (scenarios.h), nodes of `per_node` ranks, codecs `half` and `byte` allowed.
PlanRequest request(int ranks, int per_node, const Profile& profile, int gradients = 12);

/// As many gradients as a transformer: matrices, and two small ones for each.
PlanRequest transformer(int ranks, int per_node, const Profile& profile, int gradients = 400);

}  // namespace casync::test
