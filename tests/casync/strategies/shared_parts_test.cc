// SPDX-License-Identifier: Apache-2.0
//
// Graphs of many ranks, of parts that are looked up once.
#include <catch2/catch.hpp>

#include "casync/graph/graph_text.h"
#include "casync/model/topology.h"
#include "casync/patterns/delegates.h"
#include "casync/patterns/servers.h"
#include "casync/strategies/strategy.h"

namespace casync {
namespace {

Result<CodecTraits> traits_of(const CodecChoice&) { return CodecTraits{.bits_per_element = 8}; }

/// Compares the graphs of all ranks with those that each rank makes by itself; returns the parts.
SharedParts compared(const Decision& decision, const Topology& topology) {
  SharedParts shared = shared_parts(decision, topology);
  for (Rank self = 0; self < topology.ranks; ++self) {
    const auto alone = make_graph(decision, 1000, topology, self, 3, traits_of);
    const auto graph =
        make_graph(decision, 1000, topology, self, 3, traits_of, strategy_of(decision.strategy).graph, shared);
    REQUIRE(alone.is_ok());
    REQUIRE(graph.is_ok());
    CHECK(graph_text(*graph) == graph_text(*alone));
  }
  return shared;
}

}  // namespace

TEST_CASE("shared parts: graphs of them are those that each rank makes by itself") {
  const Topology topology{8, {0, 0, 0, 1, 2, 2, 1, 3}};
  Decision decision;
  decision.partitions = 5;
  CHECK(compared(decision, topology).servers.empty());
  for (const Servers& servers : {Servers{3, false}, Servers{2, true}}) {
    decision.servers = servers;
    CHECK(compared(decision, topology).servers == server_ranks(topology.node_of, 8, servers.count));
  }
  decision.servers = {};
  decision.strategy = StrategyKind::kRing;
  CHECK(compared(decision, topology).nodes.empty());
  for (const StrategyKind strategy : {StrategyKind::kHierarchical, StrategyKind::kHierarchicalAllGather}) {
    decision.strategy = strategy;
    CHECK(compared(decision, topology).nodes == nodes_of(topology.node_of, 8));
  }
}

}  // namespace casync
