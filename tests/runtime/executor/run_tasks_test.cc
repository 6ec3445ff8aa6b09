// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_tasks.h"

#include <catch2/catch.hpp>
#include <vector>

#include "casync/graph/hops.h"
#include "runtime/executor/run_buffers.h"
#include "tests/runtime/executor/owner_graph.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using test::kDecodes, test::kMerges, test::kReceives, test::kSends;

namespace {

/// The tasks that get ready at the end of another one.
std::vector<TaskId> completed(RunTasks& tasks, TaskId task) {
  std::vector<TaskId> ready;
  tasks.complete(task, [&](TaskId next) { ready.push_back(next); });
  return ready;
}

std::vector<TaskId> ready_first(const RunTasks& tasks) {
  std::vector<TaskId> ready;
  tasks.for_each_ready([&](TaskId task) { ready.push_back(task); });
  return ready;
}

}  // namespace

TEST_CASE("run tasks: the end of the last task that another waits for makes that ready, in each step anew") {
  const TaskGraph graph = test::owner_graph();
  RunTasks tasks(graph);
  CHECK(tasks.count() == 4);
  for (int step = 0; step < 2; ++step) {
    tasks.begin();
    CHECK_FALSE(tasks.are_done());
    CHECK(ready_first(tasks) == std::vector{kReceives});
    CHECK(completed(tasks, kReceives) == std::vector{kMerges});
    CHECK(tasks.is_done(kReceives));
    CHECK_FALSE(tasks.is_done(kMerges));
    CHECK(completed(tasks, kMerges) == std::vector{kSends, kDecodes});
    CHECK(completed(tasks, kSends).empty());
    CHECK_FALSE(tasks.are_done());
    CHECK(completed(tasks, kDecodes).empty());
    CHECK(tasks.are_done());
  }
}

TEST_CASE("run tasks: one that is skipped is done, and those after it wait for one less") {
  const TaskGraph graph = test::owner_graph();
  RunTasks tasks(graph);
  tasks.begin();
  tasks.skip(kSends);  // ahead of the merge that it waits for
  tasks.skip(kMerges);
  CHECK(tasks.is_done(kSends));
  CHECK(ready_first(tasks) == std::vector{kReceives, kDecodes});
  tasks.skip(kReceives);
  CHECK_FALSE(tasks.are_done());
  tasks.skip(kDecodes);
  CHECK(tasks.are_done());
}

TEST_CASE("run tasks: each has its hop") {
  const TaskGraph graph = test::owner_graph();
  const RunTasks tasks(graph);
  const std::vector<std::uint32_t> hops = hops_of_tasks(graph);
  for (const TaskId task : {kReceives, kMerges, kSends, kDecodes}) {
    CHECK(tasks.hop(task) == hops[TaskGraph::index(task)]);
  }
  CHECK(tasks.hop(kMerges) == 1);
}

TEST_CASE("run tasks: a decode of a payload that lies in the gradient moves no byte, unless it makes a result") {
  const TaskGraph graph = test::owner_graph();
  const HopCodecs codecs = test::codecs_of("none");
  RunBuffers buffers(graph, codecs, nullptr, 0);
  RunTasks tasks(graph);
  tasks.find_instant(buffers, false);
  CHECK_FALSE(tasks.is_instant(kDecodes));
  buffers.lie_in_gradient();
  tasks.find_instant(buffers, false);
  CHECK(tasks.is_instant(kDecodes));
  CHECK_FALSE(tasks.is_instant(kMerges));
  tasks.find_instant(buffers, true);
  CHECK_FALSE(tasks.is_instant(kDecodes));
}

TEST_CASE("run tasks: each has a name of its own among the tasks of all runs") {
  const TaskGraph graph = test::owner_graph();
  RunTasks one(graph), other(graph);
  other.set_number(1);
  CHECK(one.cookie(kSends) == 2);
  CHECK(other.cookie(kSends) == (std::uint64_t{1} << 32 | 2));
}

TEST_CASE("run tasks: a merge into no elements and their decode move no byte, with any codec") {
  TaskGraph::Builder builder;
  const BufferId sum = builder.buffer({{0, 8}, Hop::kSum}), answer = builder.buffer({{0, 0}, Hop::kRaw});
  const TaskId merges = builder.add(Merge{{std::nullopt}, {0, 8}, sum, true});
  const TaskId answers = builder.add(Merge{{sum}, {0, 0}, answer});
  const TaskId decodes = builder.add(Decode{answer, {0, 0}});
  const TaskGraph graph = std::move(builder).build();
  const HopCodecs codecs = test::codecs_of("int4");
  RunBuffers buffers(graph, codecs, nullptr, 0);
  RunTasks tasks(graph);
  tasks.find_instant(buffers, true);
  CHECK_FALSE(tasks.is_instant(merges));
  CHECK(tasks.is_instant(answers));
  CHECK(tasks.is_instant(decodes));
}
