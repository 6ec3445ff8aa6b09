// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/strategy.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "casync/graph/graph_text.h"
#include "casync/model/topology.h"

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

TEST_CASE("make_graph: all strategies of two hops take any codec on each") {
  for (const Strategy& strategy : strategies()) {
    if (!strategy.second_hop) continue;
    for (const char* first : {"none", "int8"}) {
      for (const char* second : {"none", "int8"}) {
        CHECK(graph_of({.codec = {first, {}}, .second_hop = {second, {}}, .strategy = strategy.kind}).is_ok());
      }
    }
  }
}

TEST_CASE("make_graph: all_gather has one hop, and refuses a second codec by its name") {
  const CodecChoice narrow{"int8", {{"block", 64}}}, wide{"int8", {}};
  const auto graph = graph_of({.codec = wide, .second_hop = narrow, .strategy = StrategyKind::kAllGather});
  REQUIRE(!graph);
  CHECK(graph.status().code() == StatusCode::kPlanError);
  CHECK_THAT(graph.status().message(), Contains("strategy `all_gather` has one hop only, in codec `int8`") &&
                                           Contains("second_hop `int8:block=64`") && Contains("use strategy `ps`"));
  CHECK(graph_of({.codec = wide, .second_hop = wide, .strategy = StrategyKind::kAllGather}).is_ok());
}

TEST_CASE("make_graph: with a codec that needs each rank to encode its own elements all codes reach one merge") {
  const auto coded = [](const CodecChoice&) -> Result<CodecTraits> { return CodecTraits{.coded_terms = true}; };
  Topology topology{7, {0, 0, 1, 1, 1, 0, 2}};
  for (const Strategy& strategy : strategies()) {
    if (!strategy.second_hop) continue;  // every rank merges, or every node
    const StrategyKind kind = strategy.kind;
    int merges = 0;
    for (Rank self = 0; self < topology.ranks; ++self) {
      const auto graph = make_graph({.codec = {"ef21", {}}, .strategy = kind}, 100, topology, self, 2, coded);
      REQUIRE(graph.is_ok());
      const Merge merge = merge_of(*graph);
      if (merge.contributions.empty()) continue;
      ++merges;
      CHECK(merge.contributions.size() == 7);
      for (const std::optional<BufferId>& part : merge.contributions) CHECK(part.has_value());
    }
    CAPTURE(name_of(kind));
    CHECK(merges == 1);
  }
}

TEST_CASE("encodings_on_the_way: a ring's code is encoded again at each hop, a tree's at each level") {
  const CodecTraits lossy, exact{.exact_merge = true};
  CHECK(encodings_on_the_way(StrategyKind::kPs, 16, lossy) == 1);
  CHECK(encodings_on_the_way(StrategyKind::kHierarchical, 16, lossy) == 1);
  CHECK(encodings_on_the_way(StrategyKind::kRing, 2, lossy) == 1);
  CHECK(encodings_on_the_way(StrategyKind::kRing, 16, lossy) == 7.5);
  CHECK(encodings_on_the_way(StrategyKind::kRing, 16, exact) == 1);
  CHECK(encodings_on_the_way(StrategyKind::kTree, 16, lossy) == Approx(2));  // each place as often as its depth
  CHECK(encodings_on_the_way(StrategyKind::kTree, 1, lossy) == 1);
}

TEST_CASE("encodings_on_the_way: in a double tree a code is encoded again at each level of a binary tree") {
  const CodecTraits lossy, exact{.exact_merge = true}, coded{.coded_terms = true};
  // The root, 2, 4 and 8 ranks on its levels, and one more below: 2 + 8 + 24 + 4 encodings of 16 contributions.
  CHECK(encodings_on_the_way(StrategyKind::kDoubleTree, 16, lossy) == Approx(38.0 / 16));
  CHECK(encodings_on_the_way(StrategyKind::kDoubleTree, 3, lossy) == 1);
  CHECK(encodings_on_the_way(StrategyKind::kDoubleTree, 16, exact) == 1);
  CHECK(encodings_on_the_way(StrategyKind::kDoubleTree, 16, coded) == 1);
  CHECK(encodings_on_the_way(StrategyKind::kHierarchicalAllGather, 16, lossy) == 1);
}

TEST_CASE("make_graph: nodes of another number of ranks") {
  const auto graph = make_graph({}, 100, {3, {0, 1}}, 0, 0, traits_of);
  REQUIRE(!graph);
  CHECK(graph.status().text() == "InvalidArgument: nodes of 2 ranks in a group of 3");
}

TEST_CASE("topology: nodes are numbered in the order of their first ranks, and told in words") {
  const Topology topology = Topology::of(std::vector<std::string>{"b", "b", "a", "b"});
  CHECK(topology == Topology{4, {0, 0, 1, 0}});
  CHECK(text_of(topology) == "2 of node 0, 1 of node 1, 1 of node 0");
  CHECK(text_of(Topology::flat(3)) == "3 of node 0");
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

TEST_CASE("make_graph: servers that cannot be are refused with their number and the group's") {
  const auto refused = [](const Servers& servers, int ranks, StrategyKind strategy = StrategyKind::kPs) {
    const auto graph = graph_of({.strategy = strategy, .servers = servers}, ranks);
    return graph ? std::string("OK") : graph.status().text();
  };
  CHECK(refused({4, false}, 4) == "OK");
  CHECK(refused({3, true}, 4) == "OK");
  CHECK(refused({5, false}, 4) == "PlanError: 5 servers in a group of 4 ranks, expected 1 to 4");
  CHECK(refused({4, true}, 4) == "PlanError: 4 dedicated servers in a group of 4 ranks, expected 1 to 3");
  CHECK(refused({1, true}, 1) == "PlanError: 1 dedicated server in a group of 1 rank: nobody is left to contribute");
  CHECK(refused({-1, false}, 4) == "PlanError: -1 servers in a group of 4 ranks, expected 1 to 4");
  CHECK(refused({0, true}, 4) == "PlanError: 0 dedicated servers in a group of 4 ranks, expected 1 to 3");
  CHECK(refused({1, false}, 4, StrategyKind::kRing) ==
        "PlanError: 1 server beside strategy `ring`, which has none; use strategy `ps`");
}

TEST_CASE("make_graph: the same arguments give the same graph") {
  const Decision decision{.partitions = 3};
  CHECK(graph_text(*graph_of(decision)) == graph_text(*graph_of(decision)));
}

TEST_CASE("strategy names go there and back") {
  for (const Strategy& strategy : strategies()) CHECK(*strategy_from(strategy.name) == strategy.kind);
  CHECK(name_of(StrategyKind::kAllGather) == "all_gather");
}

TEST_CASE("strategy names: the page has a section and the costs of each") {
  std::ifstream file(CASYNC_DOCS "/strategies.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t costs = page.find("\n## Costs\n");
  REQUIRE(costs != std::string::npos);
  for (const Strategy& strategy : strategies()) {
    const std::string name(strategy.name);
    CHECK_THAT(page, Contains("\n## " + name + ": "));
    CHECK_THAT(page.substr(costs, page.find("\n## ", costs + 1) - costs), Contains("`" + name + "`"));
  }
}

TEST_CASE("strategy_from: an unknown name is refused with those there are") {
  const auto kind = strategy_from("rign");
  REQUIRE(!kind);
  CHECK(kind.status().code() == StatusCode::kPlanError);
  CHECK_THAT(kind.status().message(), Contains("`rign`") &&
                                          Contains("there are `ps`, `ring`, `all_gather`, `tree`, ") &&
                                          Contains("mean `ring`"));
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

TEST_CASE("ps between two ranks: the only partition of an uncompressed gradient is exchanged in one hop") {
  constexpr Elements kBundled = kBundledGradientBytes / sizeof(float);
  for (const Rank self : {0, 1}) {
    const auto ps = make_graph({}, kBundled + 1, Topology::flat(2), self, 1, traits_of);
    const auto all_gather =
        make_graph({.strategy = StrategyKind::kAllGather}, kBundled + 1, Topology::flat(2), self, 1, traits_of);
    REQUIRE(ps.is_ok());
    CHECK(graph_text(*ps) == graph_text(*all_gather));
  }
  const CodecChoice int8{"int8", {}};
  const auto hops = [](const Decision& decision, Elements elements, int ranks = 2) {
    std::set<Hop> sent;
    for (Rank self = 0; self < ranks; ++self) {
      const auto graph = make_graph(decision, elements, Topology::flat(ranks), self, 1, traits_of);
      REQUIRE(graph.is_ok());
      for (const Primitive& task : graph->tasks()) {
        if (const auto* send = std::get_if<Send>(&task))
          sent.insert(graph->buffers()[TaskGraph::index(send->from)].hop);
      }
    }
    return sent.size();
  };
  CHECK(hops({}, kBundled + 1) == 1);
  CHECK(hops({}, kBundled) == 2);  // bundles have an owner
  CHECK(hops({}, kBundled + 1, 3) == 2);
  CHECK(hops({.partitions = 2}, kBundled + 1) == 2);
  CHECK(hops({.servers = {1, false}}, kBundled + 1) == 2);
  CHECK(hops({.codec = int8}, kBundled + 1) == 2);
  CHECK(hops({.second_hop = int8}, kBundled + 1) == 2);
  CHECK(hops({.codec = int8, .second_hop = int8}, kBundled + 1) == 2);
}

TEST_CASE("all_gather: every rank merges the codes of all in rank order, its own code among them") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (Rank self = 0; self < ranks; ++self) {
      const auto graph =
          make_graph({.strategy = StrategyKind::kAllGather}, 100, Topology::flat(ranks), self, 3, traits_of);
      std::vector<Rank> from;
      for (const std::optional<BufferId>& part : merge_of(*graph).contributions) {
        REQUIRE(part);
        const Rank sender = sender_of(*graph, *part);
        from.push_back(sender < 0 ? self : sender);
      }
      std::vector<Rank> in_order(static_cast<std::size_t>(ranks));
      std::iota(in_order.begin(), in_order.end(), 0);
      CAPTURE(ranks, self);
      REQUIRE(from == in_order);
    }
  }
}

TEST_CASE("all_gather: each rank sends N - 1 times the gradient") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    CAPTURE(ranks);
    REQUIRE(sent_elements(StrategyKind::kAllGather, ranks, 3, 0) == static_cast<Elements>(ranks - 1) * 3 * 64 * 1024);
  }
}

TEST_CASE("hierarchical: a node sends the code of its sum, once, and the result where it owns") {
  constexpr int kNodes = 3, kSize = 4, kRanks = kNodes * kSize;
  Topology topology = Topology::flat(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) topology.node_of.push_back(rank / kSize);
  const Decision decision{.strategy = StrategyKind::kHierarchical, .partitions = kRanks};
  constexpr Elements kElements = Elements{kRanks} * 64 * 1024;
  for (Rank self = 0; self < kRanks; ++self) {
    const auto graph = make_graph(decision, kElements, topology, self, 0, traits_of);
    Elements raw = 0, first = 0, second = 0;  // raw: inside the node; the others: to other nodes
    for (const Primitive& task : graph->tasks()) {
      const auto* send = std::get_if<Send>(&task);
      if (!send) continue;
      const Buffer& buffer = graph->buffers()[TaskGraph::index(send->from)];
      const bool inside = send->to / kSize == self / kSize;
      CAPTURE(self, send->to);
      REQUIRE((buffer.hop != Hop::kRaw || inside));
      REQUIRE((buffer.hop != Hop::kFirst || !inside));
      if (buffer.hop == Hop::kRaw) raw += buffer.slice.count;
      if (buffer.hop == Hop::kFirst) first += buffer.slice.count;
      if (buffer.hop == Hop::kSecond && !inside) second += buffer.slice.count;
    }
    CHECK(raw == kElements * (kSize - 1) / kSize);
    CHECK(first == kElements * (kNodes - 1) / kRanks);
    CHECK(second == kElements * (kNodes - 1) / kRanks);
  }
}

// Elements that `self` sends up to owners, and down from them.
std::pair<Elements, Elements> sent_up_and_down(const TaskGraph& graph) {
  Elements up = 0, down = 0;
  for (const Primitive& task : graph.tasks()) {
    const auto* send = std::get_if<Send>(&task);
    if (!send) continue;
    const Buffer& buffer = graph.buffers()[TaskGraph::index(send->from)];
    (buffer.hop == Hop::kSecond ? down : up) += buffer.slice.count;
  }
  return {up, down};
}

TEST_CASE("double_tree: with two partitions no rank sends more than the gradient up and down, nor to more than four") {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    constexpr Elements kElements = Elements{2} * 64 * 1024;
    Elements all_up = 0, all_down = 0;
    for (Rank self = 0; self < ranks; ++self) {
      const auto graph = make_graph({.strategy = StrategyKind::kDoubleTree, .partitions = 2}, kElements,
                                    Topology::flat(ranks), self, 5, traits_of);
      CAPTURE(ranks, self);
      const auto [up, down] = sent_up_and_down(*graph);
      REQUIRE(up <= kElements);
      REQUIRE(down <= kElements);
      all_up += up;
      all_down += down;
      std::set<Rank> peers;
      std::map<std::uint32_t, int> waited_for;  // messages up, by partition
      for (const Primitive& task : graph->tasks()) {
        if (const auto* send = std::get_if<Send>(&task)) peers.insert(send->to);
        const auto* recv = std::get_if<Recv>(&task);
        if (recv && graph->buffers()[TaskGraph::index(recv->to)].hop == Hop::kFirst) ++waited_for[recv->id.partition];
      }
      REQUIRE(peers.size() <= 4);
      REQUIRE(waited_for.size() <= 1);  // it has children in one of the two trees at most
      for (const auto& [partition, messages] : waited_for) REQUIRE(messages <= 2);
    }
    CHECK(all_up == static_cast<Elements>(ranks - 1) * kElements);
    CHECK(all_down == all_up);
  }
}

TEST_CASE("hierarchical_all_gather: codes of nodes' sums go to all nodes, and elements as they are stay inside") {
  const Topology topology{9, {0, 0, 0, 0, 1, 1, 2, 2, 2}};  // 4, 2 and 3 ranks
  constexpr Elements kElements = Elements{12} * 64 * 1024;
  const Decision decision{.strategy = StrategyKind::kHierarchicalAllGather, .partitions = 12};  // of every node alike
  for (Rank self = 0; self < topology.ranks; ++self) {
    const auto graph = make_graph(decision, kElements, topology, self, 0, traits_of);
    REQUIRE(graph.is_ok());
    Elements inside = 0, between = 0, merged = 0;
    for (const Primitive& task : graph->tasks()) {
      if (const auto* merge = std::get_if<Merge>(&task); merge && merge->last) {
        CHECK(merge->contributions.size() == 3);  // the nodes, in their order
        merged += merge->local.count;
      }
      const auto* send = std::get_if<Send>(&task);
      if (!send) continue;
      const Buffer& buffer = graph->buffers()[TaskGraph::index(send->from)];
      const bool is_inside =
          topology.node_of[static_cast<std::size_t>(send->to)] == topology.node_of[static_cast<std::size_t>(self)];
      CAPTURE(self, send->to);
      REQUIRE(buffer.hop == (is_inside ? Hop::kRaw : Hop::kFirst));
      (is_inside ? inside : between) += buffer.slice.count;
    }
    const Elements size = self < 4 ? 4 : self < 6 ? 2 : 3;
    CHECK(merged == kElements / size);
    CHECK(between == 2 * kElements / size);
    CHECK(inside == 2 * (size - 1) * kElements / size);  // its elements to the other delegates, results to the others
  }
}

TEST_CASE("ps, ring and tree: with a multiple of ranks as partitions each rank sends 2 (N - 1) / N of the gradient") {
  for (StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kRing, StrategyKind::kTree}) {
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
