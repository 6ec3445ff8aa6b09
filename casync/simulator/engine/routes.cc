// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/routes.h"

namespace casync::engine {
namespace {

int node_of(const Topology& topology, Rank rank) {
  return topology.node_of.empty() ? 0 : topology.node_of[static_cast<std::size_t>(rank)];
}

}  // namespace

std::size_t Routes::port_between(Rank rank, Rank peer) const {
  const int node = node_of(scenario_.topology, rank);
  if (node == node_of(scenario_.topology, peer)) return static_cast<std::size_t>(rank);
  return tasks_.ranks() + static_cast<std::size_t>(scenario_.profile.node_shares_port ? node : rank);
}

const Link& Routes::link_of(std::uint32_t message) const {
  const Topology& topology = scenario_.topology;
  const bool inside = node_of(topology, tasks_.rank_of(message)) == node_of(topology, tasks_[message].peer);
  return inside ? scenario_.profile.inside : scenario_.profile.between;
}

int Routes::distance_of(std::uint32_t message) const {
  const int ranks = scenario_.topology.ranks;
  return (tasks_[message].peer - tasks_.rank_of(message) + ranks) % ranks;
}

bool Routes::is_announced(std::uint32_t send) const {
  if (scenario_.profile.processors != 1) return false;
  const double from = link_of(send).announced_bytes;
  return from > 0 && static_cast<double>(tasks_[send].bytes) >= from;
}

bool Routes::takes_processors() const {
  for (const Link* link : {&scenario_.profile.inside, &scenario_.profile.between}) {
    if (!link->send_work.empty() || !link->receive_work.empty()) return true;
  }
  return false;
}

}  // namespace casync::engine
