// SPDX-License-Identifier: Apache-2.0
//
// An owner's batches, of which each answer waits for both ranks.
#include "runtime/executor/answer_steps.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/runtime/executor/asynchronous_job.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Rank 0, which owns the gradient, and what rank 1 sends it.
struct SteppingOwner : test::AsynchronousJob {
  explicit SteppingOwner(std::uint64_t epoch) : AsynchronousJob(epoch, {.bound = 0}) {}
  GradientRun& side() { return *runs[0]->owner_side(); }
  bool has_batch() { return !one.parts.ready.to_compute().empty(); }
  void begin_own(float value) {
    values[0].assign(100, value);
    one.begin(*runs[0], 0, values[0]);
  }
  void take_from_other(float value) {
    Message message;
    message.key = {runs[0]->key, 0, side().answering->of(TaskId{0}).number(), kContributionHop};
    message.codec = side().codec(Hop::kFirst).info().number;
    message.elements = 100;
    message.payload_bytes = 400;
    const Placement place = one.parts.messages.place(1, message);
    REQUIRE(place.kind == Placement::Kind::kHere);
    std::fill_n(reinterpret_cast<float*>(place.view.data), 100, value);
    answers.take(side(), 1, message);
  }

  test::OneRank& one = *ranks[0];
  WorkRecord record{nullptr};
  AnswerSteps answers{one.parts.ready, one.parts.steps, one.failures, record};
};

}  // namespace

TEST_CASE("answer steps: a batch begins once an answer is due, and its answers have the step of their ranks") {
  SteppingOwner it(930);
  it.begin_own(1);
  CHECK_FALSE(it.has_batch());
  it.take_from_other(2);
  CHECK(it.has_batch());
  CHECK(it.record.counters().tasks == 1);
  it.one.round();
  CHECK(it.runs[0]->step.completed() == 1);
  CHECK(it.values[0] == std::vector<float>(100, 3));
  const TaskId send = it.side().answering->of(TaskId{0}).messages(1).send;
  const Send& answer = std::get<Send>(it.side().graph.tasks()[TaskGraph::index(send)]);
  const MessageKey key = AnswerSteps::key_of(it.side(), send, answer);
  CHECK(key.gradient == it.runs[0]->key);
  CHECK(key.step == 0);
  CHECK(key.hop == kAnswerHop);
}

TEST_CASE("answer steps: the own contribution alone is enough where the other rank has ended") {
  SteppingOwner it(931);
  it.begin_own(1);
  it.answers.end_rank(it.side(), 1);
  CHECK(it.has_batch());
  it.one.round();
  CHECK(it.runs[0]->step.completed() == 1);
  CHECK(it.values[0] == std::vector<float>(100, 1));
}

TEST_CASE("answer steps: the own contribution is of the step that has begun") {
  SteppingOwner it(932);
  it.values[0].assign(100, 1);
  it.one.waiters.begin(1);
  it.runs[0]->begin(0, {reinterpret_cast<std::byte*>(it.values[0].data()), 400});
  it.answers.contribute_own(it.side());
  CHECK(it.side().answering->of(TaskId{0}).batches().contributed(0) == 1);
  CHECK_FALSE(it.has_batch());
}

TEST_CASE("answer steps: a consensus is over once the sums of all partitions are levelled") {
  SteppingOwner it(933);
  it.one.waiters.begin(1);
  it.runs[0]->begin(4, {});
  CHECK(it.answers.begin_levelling(it.side()));
  CHECK(it.has_batch());
  CHECK(it.runs[0]->step.completed() == 0);
  it.one.round();
  CHECK(it.runs[0]->step.completed() == 5);
  CHECK(it.one.waiters.active() == 0);
  CHECK(it.side().answering->of(TaskId{0}).batches().contributed(1) == 5);
}
