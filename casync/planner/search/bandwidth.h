// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/planner/search/request.h"

namespace casync {

/// Bandwidths between which it is asked where compression pays: 100 Mb/s to 800 Gb/s, in bytes per second.
inline constexpr double kSlowestBandwidth = 1.25e7, kFastestBandwidth = 1e11;

/// Bytes per second that the slowest link in use carries in large messages.
double bandwidth_of(const PlanRequest& request);

/// The same machines with another bandwidth between nodes; on one node, inside it. Latency and fixed costs stay.
PlanRequest with_bandwidth(const PlanRequest& request, double bytes_per_second);

}  // namespace casync
