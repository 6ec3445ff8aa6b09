// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// All-gather: every rank encodes its contribution once and sends it to every other rank; each merges all of them
/// in rank order, its own code among them, and keeps the sum. One message after the other, and no second hop. Votes are
/// counted by every rank: all make the same code of the same codes, and decode it.
TaskGraph all_gather_graph(const Exchange& exchange);

}  // namespace casync
