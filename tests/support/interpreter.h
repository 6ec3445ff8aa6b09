// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "casync/graph/task_graph.h"

namespace casync::test {

/// An encoded partition, whatever a Meaning takes it to be.
using Code = std::vector<std::byte>;

/// The effect of encode, merge and decode on the gradients of all ranks. The interpreter does the rest: it holds the
/// buffers, carries the messages and decides the order.
class Meaning {
 public:
  virtual ~Meaning() = default;
  virtual Code encode(Rank rank, const Slice& from, Hop hop) = 0;
  /// `codes` are the contributions in order; null is the rank's own elements `merge.local`.
  virtual Code merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop to) = 0;
  virtual void decode(Rank rank, const Code& code, const Slice& to, Hop hop) = 0;
};

/// The choice among the tasks that can run.
enum class Order : std::uint8_t {
  kRandom,
  kEarliest,  ///< lowest rank, then lowest task
  kLatest,    ///< highest rank, then highest task
};

/// When a send is over.
enum class Delivery : std::uint8_t {
  kBuffered,    ///< at once; the message waits for its recv
  kRendezvous,  ///< together with its recv, so that neither goes without the other
};

struct Schedule {
  Order order = Order::kRandom;
  Delivery delivery = Delivery::kBuffered;
  std::uint64_t seed = 0;  ///< seed of kRandom
};

/// Runs the graphs of ranks 0, 1, ... to their end in this thread. Internal: no task can run although some
/// have not (says which), or a task reads what is not there.
Status interpret(std::span<const TaskGraph> ranks, Meaning& meaning, const Schedule& schedule);

/// Checks that every send of these ranks has exactly one recv that expects the same slice in the same hop's codec,
/// and the reverse. Internal: names the first that does not.
Status check_messages(std::span<const TaskGraph> ranks);

}  // namespace casync::test
