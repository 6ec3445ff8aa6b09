// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// Ring: each partition starts after its owner and gathers one contribution per rank on its way to it, decoded, added
/// and encoded again at each hop, then the owner's final code goes around unchanged. Every rank talks to its two
/// neighbours only. With coded terms all codes so far travel on side by side, and the owner merges them in rank order.
TaskGraph ring_graph(const Exchange& exchange);

}  // namespace casync
