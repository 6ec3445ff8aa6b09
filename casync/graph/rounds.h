// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "casync/graph/task_graph.h"

namespace casync {

/// One gradient of a step, as one rank sees it.
struct RoundGradient {
  const TaskGraph* graph = nullptr;  ///< this rank's
  Bytes bytes = 0;                   ///< of the gradient in memory
  bool all_reduced = false;          ///< an all-reduce of its elements takes the place of the graph, which may be null
};

/// A task of one gradient's graph.
struct RoundTask {
  std::uint32_t gradient = 0;  ///< its position in the order
  TaskId task{};
  bool operator==(const RoundTask&) const = default;
};

/// Tasks in their order, then one exchange. All sends and recvs of an exchange go side by side. Between two ranks the
/// k-th send of one and the k-th recv of the other are the same message.
struct Round {
  std::uint32_t hop = 0;                   ///< of its messages; the number of the round in its bucket
  std::vector<RoundTask> tasks;            ///< encodes, merges and decodes
  std::vector<RoundTask> sends, recvs;     ///< by peer, then gradient, then message
  std::vector<std::uint32_t> all_reduced;  ///< gradients that one all-reduce each carries, after the exchange
  bool operator==(const Round&) const = default;
};

/// Gradients that go through their rounds together: neighbours in the order.
struct Bucket {
  std::uint32_t first_gradient = 0, gradients = 0;
  std::vector<Round> rounds;  ///< by hop; those in which this rank has nothing to do are left out
  bool operator==(const Bucket&) const = default;
};

/// Makes the schedule of one rank: its part of the rounds that all ranks go through together. For transports that match
/// messages by their order and not by their names. A message's round is its hop, which both of its ends know: no rank
/// needs the graphs of others. A task is in the first round in which everything ahead of it has ended.
///
/// `gradients` are in the order that all ranks share. A bucket takes gradients until it has `bucket_bytes` or more.
/// Internal: a message whose hop is not behind the hops of all that it needs; names the gradient's position and the
/// task.
Result<std::vector<Bucket>> make_rounds(std::span<const RoundGradient> gradients, Bytes bucket_bytes);

}  // namespace casync
