// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_tasks.h"

#include <variant>

#include "casync/graph/hops.h"
#include "runtime/executor/run_buffers.h"

namespace casync::runtime {

RunTasks::RunTasks(const TaskGraph& graph)
    : graph_(graph), traits_(graph.tasks().size()), waits_for_(graph.tasks().size()), since_(graph.tasks().size()) {
  const std::vector<std::uint32_t> hops = hops_of_tasks(graph);
  for (std::size_t i = 0; i < traits_.size(); ++i) traits_[i].hop = hops[i];
}

void RunTasks::find_instant(const RunBuffers& buffers, bool has_result) {
  for (std::size_t i = 0; i < traits_.size(); ++i) {
    const Primitive& task = graph_.tasks()[i];
    if (const Encode* encode = std::get_if<Encode>(&task)) {
      traits_[i].is_instant = buffers.is_in_gradient(encode->to);
    } else if (const Decode* decode = std::get_if<Decode>(&task)) {
      traits_[i].is_instant = decode->to.count == 0 || (buffers.is_in_gradient(decode->from) && !has_result);
    } else if (const Merge* merge = std::get_if<Merge>(&task)) {
      traits_[i].is_instant = merge->local.count == 0;
    }
  }
}

void RunTasks::begin() {
  left_ = static_cast<int>(traits_.size());
  for (std::size_t i = 0; i < traits_.size(); ++i) {
    waits_for_[i] = graph_.predecessors(TaskId(static_cast<std::uint32_t>(i)));
  }
}

void RunTasks::skip(TaskId task) {
  waits_for_[TaskGraph::index(task)] = kDone;
  --left_;
  for (const TaskId next : graph_.successors(task)) {
    if (int& left = waits_for_[TaskGraph::index(next)]; left != kDone) --left;
  }
}

}  // namespace casync::runtime
