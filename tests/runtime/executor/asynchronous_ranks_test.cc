// SPDX-License-Identifier: Apache-2.0
//
// Two asynchronous ranks, round by round. Rank 0 owns the gradient.
#include "runtime/executor/asynchronous_ranks.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/asynchronous_job.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("asynchronous ranks: an owner answers a rank that is ahead of it, once it has begun its own first step") {
  test::AsynchronousJob job(800);
  job.step(1, 0, 2);
  CHECK(job.runs[1]->step.completed() == 0);
  CHECK(job.step(0, 0, 1) + job.values[1][0] >= 3);  // each contribution is told once to each rank
  CHECK(job.runs[0]->step.completed() == 1);
  CHECK(job.runs[1]->step.completed() == 1);
  job.step(1, 1, 4);
  for (std::uint32_t number = 2; number < 5; ++number) {
    CHECK(job.step(1, number, 5) == 5);  // all else it has been told
    CHECK(job.runs[1]->step.completed() == number + 1);
  }
  CHECK(job.runs[0]->step.completed() == 1);
  for (const auto& one : job.ranks) CHECK(one->reported.empty());
}

TEST_CASE("asynchronous ranks: one that has ended its steps answers the others, until all have ended theirs") {
  test::AsynchronousJob job(801);
  job.step(1, 0, 2);
  job.step(0, 0, 1);
  job.of(0).end_own(1);
  test::run_all(job.ranks);
  CHECK_FALSE(job.of(0).ended().are_all());
  CHECK(job.of(0).ended().others() == "rank 1 has");
  const std::uint64_t before = job.of(0).waits().others_went_on();
  job.step(1, 1, 4);
  CHECK(job.runs[1]->step.completed() == 2);
  CHECK(job.of(0).waits().others_went_on() > before);
  job.of(1).end_own(2);
  test::run_all(job.ranks);
  CHECK(job.of(0).ended().are_all());
  CHECK(job.of(1).ended().are_all());
}

TEST_CASE("asynchronous ranks: a consensus that needs a rank which has ended its steps ends the job") {
  test::AsynchronousJob job(802);
  job.of(1).end_rank(0, 1);
  job.values[1].assign(100, 1);
  const View data{reinterpret_cast<std::byte*>(job.values[1].data()), 400};
  job.ranks[1]->waiters.begin(1);
  job.ranks[1]->parts.steps.begin(
      {.run = job.runs[1], .step = 3, .data = data, .instead = job.runs[1]->related.consensus()});
  REQUIRE(job.ranks[1]->reported.size() == 1);
  CHECK(job.ranks[1]->reported[0] ==
        "PeerFailure: rank 0 has closed its session, and the consensus of step 3 needs its parameters");
}
