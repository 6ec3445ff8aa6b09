// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/control_scale/data_peers.h"

#include <set>

#include "casync/strategies/owners.h"
#include "casync/strategies/strategy.h"
#include "runtime/session/hop_codecs.h"

namespace casync::runtime::bench {
namespace {

Topology topology_of(const Job& job) {
  Topology topology{job.ranks, {}};
  for (Rank rank = 0; rank < job.ranks; ++rank) topology.node_of.push_back(rank / job.per_node);
  return topology;
}

std::vector<std::size_t> owners_of(const Job& job) {
  std::vector<GradientSpec> gradients;
  for (int i = 0; i < job.gradients; ++i) gradients.push_back(gradient_of(job, i));
  std::vector<OwnedGradient> owned;
  for (int i = 0; i < job.gradients; ++i) {
    const GradientSpec& gradient = gradients[static_cast<std::size_t>(i)];
    owned.push_back({gradient.name, gradient.elements(), decision_of(job, i).partitions});
  }
  return first_owners(owned, topology_of(job));
}

void add_peers(const TaskGraph& graph, std::set<Rank>& peers) {
  for (const Primitive& task : graph.tasks()) {
    if (const auto* send = std::get_if<Send>(&task)) peers.insert(send->to);
    if (const auto* receive = std::get_if<Recv>(&task)) peers.insert(receive->from);
  }
}

}  // namespace

Result<int> data_peers(const Job& job) {
  const Topology topology = topology_of(job);
  const std::vector<std::size_t> owners = owners_of(job);
  std::set<Rank> peers;
  for (int i = 0; i < job.gradients; ++i) {
    const auto graph = make_graph(decision_of(job, i), gradient_of(job, i).elements(), topology, 0,
                                  owners[static_cast<std::size_t>(i)], traits_of);
    if (!graph) return graph.status();
    add_peers(*graph, peers);
  }
  return static_cast<int>(peers.size());
}

}  // namespace casync::runtime::bench
