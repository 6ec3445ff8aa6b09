// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/strategy.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "casync/graph/graph_text.h"

namespace casync::test {
namespace {

using Catch::Matchers::Contains;

Result<CodecTraits> traits_of(const CodecChoice& codec) {
  if (codec.name == "none") return CodecTraits{.exact_merge = true};
  if (codec.name == "int8") return CodecTraits{.bits_per_element = 8.5};
  return invalid_argument("no codec `" + codec.name + "`");
}

Result<TaskGraph> graph_of(const Decision& decision, int ranks = 4, Rank self = 0) {
  return make_graph(decision, 100, Topology::flat(ranks), self, 0, traits_of);
}

// Elements that `self` sends, over all messages.
Elements sent_elements(StrategyKind strategy, int ranks, int partitions, Rank self) {
  const Decision decision{.strategy = strategy, .partitions = partitions};
  const auto elements = static_cast<Elements>(partitions) * 64 * 1024;
  const auto graph = make_graph(decision, elements, Topology::flat(ranks), self, 1, traits_of);
  Elements sent = 0;
  for (const Primitive& task : graph->tasks()) {
    if (const auto* send = std::get_if<Send>(&task)) sent += graph->buffers()[TaskGraph::index(send->from)].slice.count;
  }
  return sent;
}

// The one merge of a graph, and the rank that a buffer came from.
Merge merge_of(const TaskGraph& graph) {
  for (const Primitive& task : graph.tasks()) {
    if (const auto* merge = std::get_if<Merge>(&task)) return *merge;
  }
  return {};
}

Rank sender_of(const TaskGraph& graph, BufferId buffer) {
  for (const Primitive& task : graph.tasks()) {
    if (const auto* recv = std::get_if<Recv>(&task); recv && recv->to == buffer) return recv->from;
  }
  return -1;
}

}  // namespace

TEST_CASE("make_graph: ring refuses a first hop whose merge adds an error, and says what to use") {
  const auto second = GENERATE(as<std::string>(), "none", "int8");
  const auto graph = graph_of({.codec = {"int8", {}}, .second_hop = {second, {}}, .strategy = StrategyKind::kRing});
  REQUIRE(!graph);
  CHECK(graph.status().code() == StatusCode::kPlanError);
  CHECK_THAT(graph.status().message(), Contains("strategy `ring`") && Contains("codec `int8`"));
  CHECK_THAT(graph.status().message(), Contains("use strategy `ps`, or codec `none` with second_hop `" + second + "`"));
}

TEST_CASE("make_graph: ring takes any codec on the second hop, ps on both") {
  CHECK(graph_of({.second_hop = {"int8", {}}, .strategy = StrategyKind::kRing}).is_ok());
  CHECK(graph_of({.codec = {"int8", {}}, .second_hop = {"int8", {}}}).is_ok());
}

TEST_CASE("make_graph: an unknown codec is what traits_of says of it") {
  const auto graph = graph_of({.codec = {"nothing", {}}, .strategy = StrategyKind::kRing});
  REQUIRE(!graph);
  CHECK_THAT(graph.status().message(), Contains("no codec `nothing`"));
}

TEST_CASE("make_graph: a rank outside its group") {
  for (const auto& [ranks, self] : {std::pair{4, 4}, std::pair{4, -1}, std::pair{0, 0}}) {
    const auto graph = graph_of({}, ranks, self);
    REQUIRE(!graph);
    CHECK(graph.status().code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("make_graph: less than one partition") {
  const auto graph = graph_of({.partitions = 0});
  REQUIRE(!graph);
  CHECK(graph.status().code() == StatusCode::kPlanError);
  CHECK_THAT(graph.status().message(), Contains("0 partitions"));
}

TEST_CASE("make_graph: the same arguments give the same graph") {
  const Decision decision{.partitions = 3};
  CHECK(graph_text(*graph_of(decision)) == graph_text(*graph_of(decision)));
}

TEST_CASE("strategy names go there and back") {
  for (StrategyKind kind : {StrategyKind::kPs, StrategyKind::kRing}) CHECK(*strategy_from(name_of(kind)) == kind);
  CHECK(name_of(StrategyKind::kRing) == "ring");
}

TEST_CASE("strategy_from: an unknown name is refused with those there are") {
  const auto kind = strategy_from("rign");
  REQUIRE(!kind);
  CHECK(kind.status().code() == StatusCode::kPlanError);
  CHECK_THAT(kind.status().message(), Contains("`rign`") && Contains("`ps`, `ring`") && Contains("mean `ring`"));
}

TEST_CASE("ps: contributions are merged in rank order, the owner's own among them") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    const auto owner = static_cast<Rank>(ranks / 2);
    const auto graph = make_graph({}, 100, Topology::flat(ranks), owner, static_cast<std::size_t>(owner), traits_of);
    std::vector<Rank> from;
    for (const std::optional<BufferId>& part : merge_of(*graph).contributions) {
      from.push_back(part ? sender_of(*graph, *part) : owner);
    }
    std::vector<Rank> in_order(static_cast<std::size_t>(ranks));
    std::iota(in_order.begin(), in_order.end(), 0);
    CAPTURE(ranks);
    CHECK(from == in_order);
  }
}

TEST_CASE("ps and ring: with a multiple of ranks as partitions each rank sends 2 (N - 1) / N of the gradient") {
  for (StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kRing}) {
    for (int ranks = 1; ranks <= 16; ++ranks) {
      const int partitions = 2 * ranks;
      for (Rank self = 0; self < ranks; ++self) {
        CAPTURE(name_of(strategy), ranks, self);
        REQUIRE(sent_elements(strategy, ranks, partitions, self) ==
                2 * static_cast<Elements>(ranks - 1) * 2 * 64 * 1024);
      }
    }
  }
}

}  // namespace casync::test
