// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/task_graph.h"

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

constexpr Slice kAll{0, 8};

std::vector<TaskId> successors(const TaskGraph& graph, TaskId task) {
  const auto found = graph.successors(task);
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("builder: readers wait for the writer, in either order of adding") {
  TaskGraph::Builder builder;
  const BufferId code = builder.buffer({kAll});
  const TaskId early = builder.add(Decode{code, kAll});
  const TaskId writer = builder.add(Encode{kAll, code});
  const TaskId late = builder.add(Send{1, code, {}});
  const TaskGraph graph = std::move(builder).build();
  CHECK(successors(graph, writer) == std::vector{early, late});
  CHECK(graph.predecessors(early) == 1);
  CHECK(graph.predecessors(late) == 1);
  CHECK(graph.predecessors(writer) == 0);
  CHECK(successors(graph, late).empty());
}

TEST_CASE("builder: a merge waits for each contribution that is not its own") {
  TaskGraph::Builder builder;
  const BufferId a = builder.buffer({kAll}), b = builder.buffer({kAll}), sum = builder.buffer({kAll, Hop::kSecond});
  const TaskId first = builder.add(Recv{1, a, {0, 0}});
  const TaskId second = builder.add(Recv{2, b, {0, 0}});
  const TaskId merge = builder.add(Merge{{a, std::nullopt, b}, kAll, sum, true});
  const TaskGraph graph = std::move(builder).build();
  CHECK(graph.predecessors(merge) == 2);
  CHECK(successors(graph, first) == std::vector{merge});
  CHECK(successors(graph, second) == std::vector{merge});
}

TEST_CASE("builder: after() orders tasks that share no buffer, and an order told twice counts once") {
  TaskGraph::Builder builder;
  const BufferId a = builder.buffer({kAll}), b = builder.buffer({kAll});
  const TaskId first = builder.add(Encode{kAll, a});
  const TaskId then = builder.add(Recv{1, b, {}});
  const TaskId sent = builder.add(Send{1, a, {}});
  builder.after(first, then);
  builder.after(first, then);
  builder.after(first, sent);
  const TaskGraph graph = std::move(builder).build();
  CHECK(successors(graph, first) == std::vector{then, sent});
  CHECK(graph.predecessors(then) == 1);
  CHECK(graph.predecessors(sent) == 1);
}

TEST_CASE("graph: uses counts the tasks that read or write a buffer") {
  TaskGraph::Builder builder;
  const BufferId a = builder.buffer({kAll}), sum = builder.buffer({kAll, Hop::kSecond}), idle = builder.buffer({});
  builder.add(Recv{1, a, {0, 0}});
  builder.add(Merge{{a, std::nullopt}, kAll, sum, true});
  builder.add(Send{1, sum, {0, 1}});
  builder.add(Decode{sum, kAll});
  const TaskGraph graph = std::move(builder).build();
  CHECK(graph.uses(a) == 2);
  CHECK(graph.uses(sum) == 3);
  CHECK(graph.uses(idle) == 0);
}

TEST_CASE("graph: without tasks it is empty and valid for a gradient without elements") {
  const TaskGraph graph = TaskGraph::Builder().build();
  CHECK(graph.tasks().empty());
  CHECK(graph.buffers().empty());
  CHECK(graph.validate(0, 1, 0).is_ok());
}

}  // namespace casync::test
