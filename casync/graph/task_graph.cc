// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/task_graph.h"

#include <algorithm>

#include "base/check.h"
#include "casync/graph/access.h"

namespace casync {
namespace {

using Edge = std::pair<TaskId, TaskId>;

// The buffers a task touches, each once. An id out of range is left for validate() to report.
std::vector<BufferId> touched_buffers(const Primitive& task, std::size_t buffers) {
  std::vector<BufferId> touched;
  for_each_read(task, [&](BufferId id) { touched.push_back(id); });
  if (const auto written = written_buffer(task)) touched.push_back(*written);
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  std::erase_if(touched, [&](BufferId id) { return TaskGraph::index(id) >= buffers; });
  return touched;
}

// Buffers may have several writers only in graphs that validate() refuses; their readers then wait for all.
std::vector<std::vector<TaskId>> writers_of_buffers(std::span<const Primitive> tasks, std::size_t buffers) {
  std::vector<std::vector<TaskId>> writers(buffers);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const auto written = written_buffer(tasks[t]);
    if (written && TaskGraph::index(*written) < buffers) writers[TaskGraph::index(*written)].push_back(TaskId(t));
  }
  return writers;
}

void add_buffer_edges(std::span<const Primitive> tasks, std::size_t buffers, std::vector<Edge>& edges) {
  const auto writers = writers_of_buffers(tasks, buffers);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for_each_read(tasks[t], [&](BufferId id) {
      if (TaskGraph::index(id) >= buffers) return;
      for (TaskId writer : writers[TaskGraph::index(id)]) edges.emplace_back(writer, TaskId(t));
    });
  }
}

}  // namespace

std::span<const TaskId> TaskGraph::successors(TaskId task) const {
  const std::size_t first = first_successor_[index(task)];
  return std::span(successors_).subspan(first, first_successor_[index(task) + 1] - first);
}

BufferId TaskGraph::Builder::buffer(Buffer buffer) {
  buffers_.push_back(buffer);
  return BufferId(buffers_.size() - 1);
}

TaskId TaskGraph::Builder::add(Primitive task) {
  tasks_.push_back(std::move(task));
  return TaskId(tasks_.size() - 1);
}

void TaskGraph::Builder::after(TaskId first, TaskId then) {
  CASYNC_CHECK(index(first) < tasks_.size() && index(then) < tasks_.size());
  edges_.emplace_back(first, then);
}

TaskGraph TaskGraph::Builder::build() && {
  TaskGraph graph;
  add_buffer_edges(tasks_, buffers_.size(), edges_);
  // Sorted by the task that comes first, the second halves are the successor lists one after the other; and an
  // order told twice must not be waited for twice.
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());

  graph.predecessors_.resize(tasks_.size());
  graph.first_successor_.resize(tasks_.size() + 1);
  graph.successors_.reserve(edges_.size());
  for (const auto& [first, then] : edges_) {
    ++graph.first_successor_[index(first) + 1];
    ++graph.predecessors_[index(then)];
    graph.successors_.push_back(then);
  }
  for (std::size_t t = 0; t < tasks_.size(); ++t) graph.first_successor_[t + 1] += graph.first_successor_[t];

  graph.uses_.resize(buffers_.size());
  for (const Primitive& task : tasks_) {
    for (BufferId id : touched_buffers(task, buffers_.size())) ++graph.uses_[index(id)];
  }
  graph.tasks_ = std::move(tasks_);
  graph.buffers_ = std::move(buffers_);
  return graph;
}

}  // namespace casync
