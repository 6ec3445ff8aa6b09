// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/missing_work.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("missing work: an owner lacks a contribution, another rank a result, and a step that is over nothing") {
  auto ranks = test::make_ranks(2, 770);
  std::vector<GradientRun*> runs;
  std::vector<std::vector<float>> values(2, std::vector<float>(100, 1));
  for (const auto& one : ranks) runs.push_back(&one->take_in());
  const auto missing = [&](std::size_t rank) { return ranks[rank]->parts.missing.of(*runs[rank]); };
  const auto lacks = [&](std::size_t rank) { return ranks[rank]->parts.missing.lacks_contribution(*runs[rank]); };
  CHECK(missing(0) == "nothing is missing any more");
  CHECK_FALSE(lacks(0));

  ranks[0]->begin(*runs[0], 0, values[0]);
  while (ranks[0]->round()) {
  }
  CHECK(missing(0).starts_with("nothing came from rank 1 for partition 0; 1 messages not sent, "));
  CHECK(lacks(0));

  ranks[1]->begin(*runs[1], 0, values[1]);
  CHECK(missing(1).starts_with("nothing came from rank 0 for partition 0; 1 messages not sent, "));
  CHECK_FALSE(lacks(1));
  while (ranks[1]->round()) {
  }
  CHECK(missing(1) == "nothing came from rank 0 for partition 0; 0 messages not sent, 1 tasks not computed");
  test::run_all(ranks);
  for (const std::size_t rank : {0u, 1u}) CHECK(missing(rank) == "nothing is missing any more");
}

TEST_CASE("missing work: a gradient of rounds says which turn is under way") {
  auto ranks = test::make_ranks(2, 771);
  const std::unique_ptr<GradientRun> made = test::make_rounds_weight(std::make_unique<test::NoTurns>(), 2, 0);
  GradientRun& run = *made;
  run.rounds->add(test::make_weight("round 0", 2, 0));
  GradientRun& exchange = *run.rounds->exchanges()[0];
  run.begin(0, {});
  CHECK(ranks[0]->parts.missing.of(run) == "turn 1 of 2 is not computed");
  exchange.begin(0, {});
  CHECK(ranks[0]->parts.missing.of(run).starts_with("turn 1 of 2 is done; then nothing came from rank 1"));
  CHECK(ranks[0]->parts.missing.lacks_contribution(run));
}
