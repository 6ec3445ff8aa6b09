// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/answer_waits.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/asynchronous_job.h"
#include "tests/support/logged.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("answer waits: a rank whose answer waits is told for whom, now and then, and its report says so") {
  test::AsynchronousJob job(805, {.bound = 0});  // each answer waits for all
  job.step(0, 0, 1);
  job.step(1, 0, 2);
  CHECK(job.runs[1]->step.completed() == 1);
  job.step(1, 1, 3);
  CHECK(job.runs[1]->step.completed() == 1);
  const auto missing = [&] { return job.ranks[1]->parts.missing.of(*job.runs[1]); };
  CHECK(job.of(1).waits().of(*job.runs[1], 0, 0).empty());
  CHECK_FALSE(job.ranks[1]->parts.missing.lacks_contribution(*job.runs[1]));

  job.of(0).waits().say(Clock::now());  // too early
  test::run_all(job.ranks);
  CHECK(job.runs[1]->asynchronous->waits_behind() == nullptr);
  job.of(0).waits().say(Clock::now() + std::chrono::seconds(60));
  test::run_all(job.ranks);
  const std::string text = "its answer for partition 0 waits for rank 0, which has contributed to steps up to 0";
  CHECK(job.of(1).waits().of(*job.runs[1], 0, 0) == text);
  CHECK_THAT(missing(), Catch::Contains(text));
  CHECK(job.ranks[1]->parts.missing.lacks_contribution(*job.runs[1]));
  job.step(0, 1, 4);
  CHECK(job.runs[1]->step.completed() == 2);
}

TEST_CASE("answer waits: a rank that has ended is told that others go on, if they do") {
  test::AsynchronousJob job(806);
  job.step(0, 0, 1);
  job.step(1, 0, 2);
  job.of(1).end_own(1);
  test::run_all(job.ranks);
  const std::uint64_t before = job.of(1).waits().others_went_on();
  job.of(0).waits().say(Clock::now() + std::chrono::seconds(60));
  test::run_all(job.ranks);
  CHECK(job.of(1).waits().others_went_on() == before + 1);
  job.of(0).waits().say(Clock::now() + std::chrono::seconds(120));  // nothing has begun since
  test::run_all(job.ranks);
  CHECK(job.of(1).waits().others_went_on() == before + 1);
}

// Each word is sent because nothing goes on. As progress it would hide every stall.
TEST_CASE("answer waits: words are no progress, so a stall is logged with the rank that is waited for") {
  const test::Logged logged;
  test::AsynchronousJob job(807, {.bound = 0});
  job.step(0, 0, 1);
  job.step(1, 0, 2);
  job.step(1, 1, 3);
  const auto sent = [&] { return job.ranks[0]->transport->stats().wire_bytes_sent - job.of(0).waits().word_bytes(); };
  const Bytes before = sent();
  const Clock::time_point begun = Clock::now();
  for (int second = 0; second <= 35; ++second) {
    const Clock::time_point now = begun + std::chrono::seconds(second);
    job.of(0).waits().say(now);
    test::run_all(job.ranks);
    job.ranks[1]->parts.missing.watch(now);
  }
  CHECK(job.of(0).waits().word_bytes() > 0);
  CHECK(sent() == before);
  CHECK_THAT(logged.text(), Catch::Contains("rank 1: nothing has moved for 30.0 s") &&
                                Catch::Contains("gradient weight, step 1: ") &&
                                Catch::Contains("waits for rank 0, which has contributed to steps up to 0"));
}
