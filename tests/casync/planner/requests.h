// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "casync/planner/search/request.h"
#include "casync/planner/search/search.h"

namespace casync::test {

/// Largest ratio of predictions that count as the same, from the best step to the plan's: each simplification may cost
/// a hundredth, or three where processors are shared.
inline constexpr double kAsShort = 1.05;

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
