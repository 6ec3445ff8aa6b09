// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// Parameter server, every rank serving the partitions it owns, or `servers` all of them, in two hops: the others send
/// their encoded partition to its owner; the owner merges all in rank order, encodes once and sends that to the others;
/// all decode what was sent, the owner too. Dedicated servers contribute to no partition, and decode all.
TaskGraph ps_graph(const Exchange& exchange);

}  // namespace casync
