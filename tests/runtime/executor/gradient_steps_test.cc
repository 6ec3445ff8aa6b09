// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/gradient_steps.h"

#include <catch2/catch.hpp>
#include <variant>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// The first task of this kind that waits for no other, or for others.
template <class Kind>
TaskId task_of(const GradientRun& run) {
  for (std::size_t i = 0; i < run.graph.tasks().size(); ++i) {
    if (std::holds_alternative<Kind>(run.graph.tasks()[i])) return TaskId(static_cast<std::uint32_t>(i));
  }
  throw std::runtime_error("no such task");
}

}  // namespace

TEST_CASE("gradient steps: the end of the last task ends the step, and lets waiters look once") {
  test::OneRank one(0, 1, 750);
  const std::string address = one.transport->address();
  REQUIRE(one.transport->connect({&address, 1}, one.parts.messages).is_ok());
  GradientRun& run = one.take_in();
  std::vector<float> values(100, 3);
  CHECK_FALSE(one.parts.steps.take_announcement());
  one.begin(run, 4, values);
  while (one.round()) {
  }
  CHECK(run.step.completed() == 5);
  CHECK_FALSE(run.step.is_under_way());
  CHECK(run.step.steps() == 1);
  CHECK(one.waiters.active() == 0);
  CHECK(one.parts.steps.take_announcement());
  CHECK_FALSE(one.parts.steps.take_announcement());
}

TEST_CASE("gradient steps: a payload has memory from its task to the last one that reads it") {
  auto ranks = test::make_ranks(2, 751);
  test::OneRank& owner = *ranks[0];
  GradientRun& run = owner.take_in();
  GradientRun& other = ranks[1]->take_in();
  std::vector<float> values(100, 1), more(100, 2);
  owner.begin(run, 0, values);
  const BufferId arriving = std::get<Recv>(run.graph.tasks()[TaskGraph::index(task_of<Recv>(run))]).to;
  CHECK(run.state(arriving).memory.data == nullptr);
  owner.parts.steps.give_memory(run, arriving);
  const std::byte* const memory = run.state(arriving).memory.data;
  CHECK(memory != nullptr);
  owner.parts.steps.give_memory(run, arriving);  // has some
  CHECK(run.state(arriving).memory.data == memory);
  ranks[1]->begin(other, 0, more);
  test::run_all(ranks);
  CHECK(run.step.completed() == 1);
  CHECK(run.state(arriving).memory.data == nullptr);
  CHECK(owner.parts.arena.take(run.buffers.bound_of(arriving)).data == memory);  // it was given back
}

TEST_CASE("gradient steps: a task that fails ends the job, and one that is not finite marks the gradient") {
  test::BegunStep begun(1, 752);
  test::OneRank& one = begun.one;
  GradientRun& run = begun.run;
  CHECK(run.step.is_finite());
  one.parts.steps.finish(run, task_of<Decode>(run), {Status::ok(), 0, false}, Clock::now(), 0);
  CHECK_FALSE(run.step.is_finite());
  one.parts.steps.finish(run, task_of<Encode>(run), {data_loss("not a payload"), 0, true}, Clock::now(), 0);
  CHECK(one.reported == std::vector<std::string>{"DataLoss: not a payload"});
  CHECK_FALSE(run.tasks.is_done(task_of<Encode>(run)));
}

TEST_CASE("gradient steps: a run that replaces another hands its end to it") {
  test::OneRank one(0, 1, 753);
  const std::string address = one.transport->address();
  REQUIRE(one.transport->connect({&address, 1}, one.parts.messages).is_ok());
  std::vector<std::unique_ptr<GradientRun>> runs;
  runs.push_back(test::make_weight("weight", 1, 0));
  GradientRun& run = *runs[0];
  std::unique_ptr<GradientRun> instead = test::make_weight("warm-up", 1, 0);
  GradientRun& warm_up = *instead;
  warm_up.related.belong_to(run);
  run.related.add_warm_up(2, std::move(instead));
  REQUIRE(one.parts.take_in(std::move(runs)).is_ok());
  std::vector<float> values(100, 3);
  for (std::uint32_t step = 0; step < 3; ++step) {
    one.begin(run, step, values);
    CHECK((run.related.instead() == &warm_up) == (step < 2));
    while (one.round()) {
    }
    CHECK(run.step.completed() == step + 1);
    CHECK(warm_up.step.completed() == std::min(step + 1, 2u));
    CHECK(one.waiters.active() == 0);
  }
}
