// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/rounds.h"

#include <catch2/catch.hpp>
#include <memory>

#include "tests/casync/strategies/strategy_cases.h"
#include "tests/support/meanings.h"
#include "tests/support/round_interpreter.h"

// Rounds of every strategy, run on all ranks in step: what meets in an exchange is the same message.
namespace casync::test {
namespace {

struct Shape {
  int partitions = 1;
  Elements elements = 0;
};
// Three gradients of one step: cut unevenly, smaller than the ranks, empty parts.
constexpr Shape kShapes[] = {{5, 4099}, {1, 7}, {9, 1023}};

std::vector<RoundRun> runs_of(const Case& which, int ranks) {
  std::vector<RoundRun> runs;
  for (const Shape& shape : kShapes)
    runs.push_back({graphs_of(which, ranks, shape.partitions, shape.elements), nullptr});
  return runs;
}

std::vector<std::vector<Bucket>> schedules_of(const std::vector<RoundRun>& runs, int ranks, Bytes bucket_bytes) {
  std::vector<std::vector<Bucket>> schedules;
  for (int r = 0; r < ranks; ++r) {
    std::vector<RoundGradient> gradients;
    for (std::size_t g = 0; g < runs.size(); ++g) {
      gradients.push_back({&runs[g].graphs[static_cast<std::size_t>(r)], kShapes[g].elements * sizeof(float), false});
    }
    auto schedule = make_rounds(gradients, bucket_bytes);
    REQUIRE(schedule.status().text() == "OK");
    schedules.push_back(std::move(*schedule));
  }
  return schedules;
}

// Each gradient alone, the first two together, all together.
constexpr Bytes kBuckets[] = {0, 4 * 4099 + 1, 1_MiB};

/// A graph of sends to rank 1 and recvs from it, in two hops.
TaskGraph made(std::uint32_t first_hop, std::uint32_t second_hop) {
  TaskGraph::Builder graph;
  const BufferId mine = graph.buffer({{0, 8}, Hop::kFirst, 0});
  graph.add(Recv{1, mine, {0, first_hop}});
  graph.add(Send{1, mine, {0, second_hop}});
  return std::move(graph).build();
}

}  // namespace

TEST_CASE("rounds: on all ranks the sends and recvs of every exchange match, and every rank has every contribution") {
  const Case which = any_strategy();
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (const Bytes bucket : kBuckets) {
      CAPTURE(name_of(which.strategy), which.nodes, which.coded_terms, ranks, bucket);
      std::vector<RoundRun> runs = runs_of(which, ranks);
      std::vector<std::unique_ptr<Contributions>> meanings;
      for (std::size_t g = 0; g < runs.size(); ++g) {
        meanings.push_back(std::make_unique<Contributions>(ranks, kShapes[g].elements));
        runs[g].meaning = meanings.back().get();
      }
      REQUIRE(interpret_rounds(runs, schedules_of(runs, ranks, bucket)).text() == "OK");
      for (const auto& meaning : meanings) REQUIRE(meaning->complete().text() == "OK");
    }
  }
}

TEST_CASE("rounds: the bytes and residuals are those of the graphs") {
  const Case which = any_strategy();
  std::mt19937_64 random(seed());
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    CAPTURE(name_of(which.strategy), which.nodes, which.coded_terms, ranks, seed());
    std::vector<RoundRun> runs = runs_of(which, ranks);
    std::vector<std::unique_ptr<Floats>> by_graphs, by_rounds;
    for (std::size_t g = 0; g < runs.size(); ++g) {
      auto gradients = random_gradients(ranks, kShapes[g].elements, random);
      for (auto& gradient : gradients) {
        for (float& value : gradient) value /= 3;  // sums in another order would show
      }
      by_graphs.push_back(std::make_unique<Floats>(gradients, 0, 0.5F, 1));
      by_rounds.push_back(std::make_unique<Floats>(gradients, 0, 0.5F, 1));
      REQUIRE(interpret(runs[g].graphs, *by_graphs[g], {.seed = seed()}).is_ok());
      runs[g].meaning = by_rounds[g].get();
    }
    REQUIRE(interpret_rounds(runs, schedules_of(runs, ranks, 1_MiB)).text() == "OK");
    for (std::size_t g = 0; g < runs.size(); ++g) {
      REQUIRE(by_graphs[g]->gradients() == by_rounds[g]->gradients());
      REQUIRE(by_graphs[g]->residuals() == by_rounds[g]->residuals());
    }
  }
}

TEST_CASE("rounds: a schedule of another order is noticed") {
  std::vector<RoundRun> runs = runs_of({StrategyKind::kPs}, 2);
  std::vector<std::unique_ptr<Contributions>> meanings;
  for (std::size_t g = 0; g < runs.size(); ++g) {
    meanings.push_back(std::make_unique<Contributions>(2, kShapes[g].elements));
    runs[g].meaning = meanings.back().get();
  }
  auto schedules = schedules_of(runs, 2, 1_MiB);
  Round& first = schedules[1][0].rounds[0];
  SECTION("two sends change places") {
    std::swap(first.sends.front(), first.sends.back());
    CHECK_THAT(interpret_rounds(runs, schedules).text(), Catch::Contains("it meets send"));
  }
  SECTION("a send is left out") {
    first.sends.pop_back();
    CHECK_THAT(interpret_rounds(runs, schedules).text(), Catch::Contains("which expects"));
  }
  SECTION("a task is left out") {
    schedules[1][0].rounds.back().tasks.pop_back();
    CHECK_THAT(interpret_rounds(runs, schedules).text(), Catch::Contains("it is in no round"));
  }
  SECTION("other buckets") {
    schedules[1] = schedules_of(runs, 2, 0)[1];
    CHECK_THAT(interpret_rounds(runs, schedules).text(), Catch::Contains("other buckets"));
  }
}

TEST_CASE("rounds: a message goes in the round of its hop, after all that it needs") {
  const TaskGraph fits = made(0, 1), late = made(1, 1);
  const RoundGradient one{&fits, 32, false}, other{&late, 32, false};
  const auto rounds = make_rounds(std::vector{one}, 0);
  REQUIRE(rounds.is_ok());
  REQUIRE((*rounds)[0].rounds.size() == 2);
  CHECK((*rounds)[0].rounds[0].recvs == std::vector<RoundTask>{{0, TaskId(0)}});
  CHECK((*rounds)[0].rounds[1].sends == std::vector<RoundTask>{{0, TaskId(1)}});
  CHECK(make_rounds(std::vector{one, other}, 0).status().text() ==
        "Internal: gradient 1 of the rounds: send b0 to rank 1 as 0.1: it needs what ends in round 1");
}

TEST_CASE("rounds: gradients that are all-reduced have no messages, and go in the order of all") {
  const TaskGraph graph = made(0, 1);
  const std::vector<RoundGradient> gradients = {{nullptr, 8, true}, {&graph, 32, false}, {nullptr, 8, true}};
  const auto together = make_rounds(gradients, 100), apart = make_rounds(gradients, 1);
  REQUIRE(together.is_ok());
  REQUIRE(together->size() == 1);
  CHECK((*together)[0].rounds[0].all_reduced == std::vector<std::uint32_t>{0, 2});
  REQUIRE(apart->size() == 3);
  CHECK((*apart)[2].rounds[0].all_reduced == std::vector<std::uint32_t>{2});
  CHECK(make_rounds({}, 1)->empty());
}

}  // namespace casync::test
