// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_tasks.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "casync/graph/access.h"
#include "runtime/executor/run_buffers.h"

namespace casync::runtime {

/// The hop of what a task makes: an encode's is the first, a merge's one further than what it merged.
RunTasks::RunTasks(const TaskGraph& graph)
    : graph_(graph), traits_(graph.tasks().size()), waits_for_(graph.tasks().size()), since_(graph.tasks().size()) {
  std::vector<std::uint32_t> hop_of(graph.buffers().size());  // of the payload in each buffer
  for (const Primitive& task : graph.tasks()) {
    if (const Recv* recv = std::get_if<Recv>(&task)) hop_of[TaskGraph::index(recv->to)] = recv->id.hop + 1;
  }
  for (const Primitive& task : graph.tasks()) {
    const Merge* merge = std::get_if<Merge>(&task);
    if (merge == nullptr) continue;
    std::uint32_t& to = hop_of[TaskGraph::index(merge->to)];
    for_each_read(task, [&](BufferId part) { to = std::max(to, hop_of[TaskGraph::index(part)]); });
  }
  for (std::size_t i = 0; i < traits_.size(); ++i) {
    const Primitive& task = graph.tasks()[i];
    std::uint32_t& hop = traits_[i].hop;
    if (const std::optional<BufferId> to = written_buffer(task)) hop = hop_of[TaskGraph::index(*to)];
    for_each_read(task, [&](BufferId from) { hop = std::max(hop, hop_of[TaskGraph::index(from)]); });
  }
}

void RunTasks::find_instant(const RunBuffers& buffers, bool has_result) {
  for (std::size_t i = 0; i < traits_.size(); ++i) {
    const Primitive& task = graph_.tasks()[i];
    if (const Encode* encode = std::get_if<Encode>(&task)) {
      traits_[i].is_instant = buffers.is_in_gradient(encode->to);
    } else if (const Decode* decode = std::get_if<Decode>(&task)) {
      traits_[i].is_instant = buffers.is_in_gradient(decode->from) && !has_result;
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
