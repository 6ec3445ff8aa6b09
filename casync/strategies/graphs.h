// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/graph/task_graph.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// Each strategy's graph of one gradient: ps_graph, ring_graph, ... A definition says how its ranks exchange.
/// <word>_encodings is there for rows that name it as Strategy::encodings.
#define CASYNC_STRATEGY(kind, word, ...)            \
  TaskGraph word##_graph(const Exchange& exchange); \
  double word##_encodings(int ranks);
#include "casync/model/strategies.def"

}  // namespace casync
