// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/ready_tasks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <variant>

#include "base/allocation_count.h"
#include "runtime/executor/answering.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

struct Queues {
  explicit Queues(std::uint64_t epoch, Rank self = 0) : run(test::make_weight("weight", 2, self)) {
    TransportOptions opening;
    opening.ranks = 2;
    opening.epoch = epoch;
    transport = std::move(make_loopback(opening)).value();
    links = std::make_unique<Links>(options, *transport, [this](const ReadyTask& one) {
      to_send.push_back(one);
      return Outgoing{};
    });
    ready = std::make_unique<ReadyTasks>(*links);
    GradientRun* const runs[] = {run.get()};
    links->reserve(runs);
    ready->reserve(runs);
    run->begin(0, {});
  }
  const ExecutorOptions options{.ranks = 2};
  std::unique_ptr<Transport> transport;
  std::vector<ReadyTask> to_send;
  std::unique_ptr<Links> links;
  std::unique_ptr<ReadyTasks> ready;
  std::unique_ptr<GradientRun> run;
};

}  // namespace

TEST_CASE("ready tasks: each of an owner's tasks is in the queue of what carries it out, and a receive in none") {
  Queues queues(710);
  GradientRun& run = *queues.run;
  const std::uint64_t before = allocations_of_this_thread();
  std::size_t instant = 0, computed = 0, sends = 0;
  for (std::size_t i = 0; i < run.graph.tasks().size(); ++i) {
    const Primitive& primitive = run.graph.tasks()[i];
    queues.ready->push(run, TaskId(static_cast<std::uint32_t>(i)));
    if (std::holds_alternative<Recv>(primitive)) continue;
    if (run.tasks.is_instant(TaskId(static_cast<std::uint32_t>(i)))) {
      ++instant;
    } else if (std::holds_alternative<Send>(primitive)) {
      ++sends;
    } else {
      ++computed;
    }
  }
  CHECK(allocations_of_this_thread() == before);
  CHECK((computed > 0 && sends > 0 && instant > 0));
  std::size_t seen = 0;
  CHECK(queues.ready->run_instant([&](const ReadyTask&) { ++seen; }));
  CHECK(seen == instant);
  std::size_t queued = 0;
  queues.ready->to_compute().for_each([&](const ReadyTask&) { ++queued; });
  CHECK(queued == computed);
  queues.links->flush();
  CHECK(queues.to_send.size() == sends);
}

TEST_CASE("ready tasks: a step's first ones wait for no other, and an instant one may make the next ready") {
  Queues queues(711, 1);
  GradientRun& run = *queues.run;
  queues.ready->push_first(run);
  std::vector<TaskId> order;
  const auto note = [&](const ReadyTask& ready) {
    order.push_back(ready.task);
    if (order.size() < 3) queues.ready->push(run, ready.task);
  };
  CHECK(queues.ready->run_instant(note));
  REQUIRE(order.size() == 3);
  std::vector<TaskId> first;
  run.tasks.for_each_ready([&](TaskId task) { first.push_back(task); });
  CHECK(std::find(first.begin(), first.end(), order[0]) != first.end());
  CHECK_FALSE(queues.ready->run_instant(note));
}

TEST_CASE("ready tasks: turns are further along than all others, and answers than contributions") {
  Queues queues(712);
  GradientRun& run = *queues.run;
  const std::unique_ptr<GradientRun> in_rounds = test::make_rounds_weight(std::make_unique<test::NoTurns>(), 2, 0);
  for (const std::uint32_t turn : {1u, 0u, 2u}) {
    in_rounds->rounds->begin();
    while (in_rounds->rounds->turn() < turn) in_rounds->rounds->go_on();
    queues.ready->push_turn(*in_rounds);
  }
  queues.ready->push_batch(run, TaskId{7});
  ReadyQueue& queue = queues.ready->to_compute();
  CHECK(queue.pop().hop == 4);
  CHECK(queue.pop().hop == 2);
  const ReadyTask batch = queue.pop();
  CHECK(batch.task == TaskId{7});
  CHECK(batch.hop == kAnswerHop);
  CHECK(queue.pop().hop == 0);
  std::uint32_t send = 0;
  while (!std::holds_alternative<Send>(run.graph.tasks()[send])) ++send;
  queues.ready->push_answer(1, run, TaskId{send});
  CHECK(queues.links->flush());
  REQUIRE(queues.to_send.size() == 1);
  CHECK(queues.to_send[0].task == TaskId{send});
}
