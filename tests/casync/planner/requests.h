// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "casync/planner/search/request.h"
#include "casync/planner/search/search.h"

namespace casync::test {

/// Largest ratio of the plan's predicted step to that of the best reference: a plan must be better by a hundredth to
/// replace another, and the usual strategy and the usual partitions may each lengthen the step by one.
inline constexpr double kAsShort = 1.031;

/// Gradients of mixed sizes (scenarios.h), nodes of `per_node` ranks, codecs `half` and `byte` allowed.
PlanRequest request(int ranks, int per_node, const Profile& profile, int gradients = 12);

/// As many gradients as a transformer: matrices, and two small ones for each.
PlanRequest transformer(int ranks, int per_node, const Profile& profile, int gradients = 400);

/// Links between nodes that carry 125 MB/s.
Profile slow_network();

/// Small requests of different kinds, on fast and on slow links.
std::vector<PlanRequest> requests();

/// Limits of one kind for all gradients.
std::vector<Limits> all_alike(const PlanRequest& request, const Limits& limits);

/// Returns the planner's whole report; the test fails without it.
PlanReport found(const PlanRequest& request);

}  // namespace casync::test
