// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "casync/simulator/engine/task_table.h"
#include "casync/simulator/simulate.h"

namespace casync::engine {

/// The ways of messages: the ports and links between ranks. A message is named by its first task.
class Routes {
 public:
  /// Borrows its arguments.
  Routes(const Scenario& scenario, const TaskTable& tasks) : scenario_(scenario), tasks_(tasks) {}

  /// Ports inside a node come first, by rank, then those between nodes.
  std::size_t ports() const { return 2 * tasks_.ranks(); }
  /// The port at this end of a message.
  std::size_t port_of(std::uint32_t message) const {
    return port_between(tasks_.rank_of(message), tasks_[message].peer);
  }
  /// The port at its other end.
  std::size_t far_port_of(std::uint32_t message) const {
    return port_between(tasks_[message].peer, tasks_.rank_of(message));
  }
  const Link& link_of(std::uint32_t message) const;
  const Link& link_at(std::size_t port) const {
    return port < tasks_.ranks() ? scenario_.profile.inside : scenario_.profile.between;
  }
  /// Number of ranks from the rank at this end of a message up to the other.
  int distance_of(std::uint32_t message) const;
  /// Returns true if a message asks its receiver first. Only with one processor: with more, messages have one that
  /// answers at once.
  bool is_announced(std::uint32_t send) const;
  /// Returns true if messages take processor time somewhere.
  bool takes_processors() const;

 private:
  /// The port of `rank` for messages to and from `peer`.
  std::size_t port_between(Rank rank, Rank peer) const;

  const Scenario& scenario_;
  const TaskTable& tasks_;
};

}  // namespace casync::engine
