// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/hops.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "casync/graph/access.h"

namespace casync {
namespace {

std::vector<std::uint32_t> hops_of_buffers(const TaskGraph& graph) {
  std::vector<std::uint32_t> hops(graph.buffers().size());
  for (const Primitive& task : graph.tasks()) {
    if (const Recv* recv = std::get_if<Recv>(&task)) hops[TaskGraph::index(recv->to)] = recv->id.hop + 1;
  }
  for (const Primitive& task : graph.tasks()) {
    const Merge* merge = std::get_if<Merge>(&task);
    if (merge == nullptr) continue;
    std::uint32_t& to = hops[TaskGraph::index(merge->to)];
    for_each_read(task, [&](BufferId part) { to = std::max(to, hops[TaskGraph::index(part)]); });
  }
  return hops;
}

}  // namespace

std::vector<std::uint32_t> hops_of_tasks(const TaskGraph& graph) {
  const std::vector<std::uint32_t> of_buffers = hops_of_buffers(graph);
  std::vector<std::uint32_t> hops;
  hops.reserve(graph.tasks().size());
  for (const Primitive& task : graph.tasks()) {
    std::uint32_t hop = 0;
    if (const std::optional<BufferId> to = written_buffer(task)) hop = of_buffers[TaskGraph::index(*to)];
    for_each_read(task, [&](BufferId from) { hop = std::max(hop, of_buffers[TaskGraph::index(from)]); });
    hops.push_back(hop);
  }
  return hops;
}

}  // namespace casync
