// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/graph_text.h"

#include <catch2/catch.hpp>

#include "casync/strategies/graphs.h"
#include "casync/strategies/reduce_scatter.h"
#include "tests/support/golden.h"

namespace casync::test {
namespace {

using MakeGraph = TaskGraph(const Exchange&);

std::vector<TaskGraph> all_ranks(MakeGraph* make, Exchange exchange) {
  std::vector<TaskGraph> graphs;
  for (exchange.self = 0; exchange.self < exchange.ranks; ++exchange.self) graphs.push_back(make(exchange));
  return graphs;
}

std::string texts(const std::vector<TaskGraph>& graphs) {
  std::string out;
  for (std::size_t r = 0; r < graphs.size(); ++r) {
    out += (r == 0 ? "rank " : "\nrank ") + std::to_string(r) + "\n" + graph_text(graphs[r]);
  }
  return out;
}

void check(const std::string& name, const std::string& actual) { CHECK(golden(name, actual) == actual); }

}  // namespace

TEST_CASE("golden: ps of one rank merges, encodes and decodes alone") {
  check("ps_1_rank.txt", texts(all_ranks(&ps_graph, {.elements = 10})));
}

TEST_CASE("golden: ps of three ranks and two partitions") {
  check("ps_3_ranks.txt", texts(all_ranks(&ps_graph, {.elements = 4096, .partitions = 2, .ranks = 3})));
}

TEST_CASE("golden: ps of four ranks and three partitions on two servers, which contribute or do not") {
  const std::vector<Rank> servers{1, 3};
  const auto serving = [&](bool dedicated) {
    return texts(all_ranks(&ps_graph, {.elements = 12'288,
                                       .partitions = 3,
                                       .ranks = 4,
                                       .first_owner = 1,
                                       .servers = servers,
                                       .dedicated = dedicated}));
  };
  check("ps_2_servers.txt", serving(false));
  check("ps_2_dedicated_servers.txt", serving(true));
}

TEST_CASE("golden: ring of one rank merges, encodes and decodes alone") {
  check("ring_1_rank.txt", texts(all_ranks(&ring_graph, {.elements = 10})));
}

TEST_CASE("golden: ring of four ranks, one partition, owner rank 2") {
  check("ring_4_ranks.txt", texts(all_ranks(&ring_graph, {.elements = 7, .ranks = 4, .first_owner = 2})));
}

TEST_CASE("golden: all_gather of one rank encodes, sums and decodes alone") {
  check("all_gather_1_rank.txt", texts(all_ranks(&all_gather_graph, {.elements = 10})));
}

TEST_CASE("golden: all_gather of three ranks and two partitions") {
  check("all_gather_3_ranks.txt", texts(all_ranks(&all_gather_graph, {.elements = 4096, .partitions = 2, .ranks = 3})));
}

TEST_CASE("golden: double_tree of five ranks and two partitions") {
  check("double_tree_5_ranks.txt", texts(all_ranks(&double_tree_graph, {.elements = 10, .partitions = 2, .ranks = 5})));
}

TEST_CASE("golden: hierarchical_all_gather of five ranks on two nodes, and of votes there") {
  const std::vector<int> node_of{0, 0, 0, 1, 1};
  check("hierarchical_all_gather_5_ranks.txt",
        texts(all_ranks(&hierarchical_all_gather_graph, {.elements = 10, .ranks = 5, .node_of = node_of})));
  const Exchange votes{.elements = 10, .ranks = 5, .coded_terms = true, .votes = true, .node_of = node_of};
  check("hierarchical_all_gather_votes.txt", texts(all_ranks(&hierarchical_all_gather_graph, votes)));
}

TEST_CASE("golden: reduce_scatter of two ranks, two partitions of each shard") {
  check("reduce_scatter_2_ranks.txt",
        texts(all_ranks(&reduce_scatter_graph, {.elements = 8192, .partitions = 4, .ranks = 2})));
}

TEST_CASE("golden: tree of one rank merges, encodes and decodes alone") {
  check("tree_1_rank.txt", texts(all_ranks(&tree_graph, {.elements = 10})));
}

TEST_CASE("golden: tree of six ranks, one partition, owner rank 4") {
  check("tree_6_ranks.txt", texts(all_ranks(&tree_graph, {.elements = 7, .ranks = 6, .first_owner = 4})));
}

TEST_CASE("golden: hierarchical of one node merges there and encodes the result only") {
  check("hierarchical_1_node.txt", texts(all_ranks(&hierarchical_graph, {.elements = 7, .ranks = 2})));
}

TEST_CASE("golden: hierarchical of five ranks on nodes of two, two and one") {
  const std::vector<int> node_of{0, 0, 1, 1, 2};
  check("hierarchical_5_ranks.txt",
        texts(all_ranks(&hierarchical_graph, {.elements = 7, .ranks = 5, .first_owner = 1, .node_of = node_of})));
}

TEST_CASE("golden: a drawing of ps between two ranks") {
  check("ps_2_ranks.dot", graphs_dot(all_ranks(&ps_graph, {.elements = 7, .ranks = 2})));
}

TEST_CASE("graph_text: a graph without tasks is no text") { CHECK(graph_text(TaskGraph::Builder().build()).empty()); }

TEST_CASE("graphs_dot: a message whose other end is not given has no arrow") {
  const std::vector<TaskGraph> graphs = all_ranks(&ps_graph, {.elements = 7, .ranks = 2});
  CHECK(graphs_dot(std::span(graphs).first(1)).find("dashed") == std::string::npos);
  CHECK(graphs_dot(graphs).find("dashed") != std::string::npos);
}

}  // namespace casync::test
