// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/graph_text.h"

#include <catch2/catch.hpp>

#include "casync/strategies/ps.h"
#include "casync/strategies/ring.h"
#include "tests/casync/golden.h"

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

TEST_CASE("golden: ring of one rank merges, encodes and decodes alone") {
  check("ring_1_rank.txt", texts(all_ranks(&ring_graph, {.elements = 10})));
}

TEST_CASE("golden: ring of four ranks, one partition, owner rank 2") {
  check("ring_4_ranks.txt", texts(all_ranks(&ring_graph, {.elements = 7, .ranks = 4, .first_owner = 2})));
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
