// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/gradient_run.h"

#include <algorithm>
#include <tuple>

namespace casync::runtime {

GradientRun::GradientRun(GradientSpec specification, Decision made, TaskGraph plan_graph,
                         std::unique_ptr<compll::Codec> first, std::unique_ptr<compll::Codec> second)
    : spec(std::move(specification)),
      decision(std::move(made)),
      graph(std::move(plan_graph)),
      first_codec(std::move(first)),
      second_codec(std::move(second)),
      elements(spec.elements()),
      keeps_residual(first_codec->info().feedback || second_codec->info().feedback),
      waits_for(graph.tasks().size()),
      since(graph.tasks().size()),
      buffers(graph.buffers().size()) {
  for (const Buffer& buffer : graph.buffers()) {
    lies_in_gradient.push_back(is_float32() && codec(buffer.hop).info().identity);
  }
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    if (const Recv* recv = std::get_if<Recv>(&graph.tasks()[i])) {
      const std::size_t to = TaskGraph::index(recv->to);
      if (graph.buffers()[to].hop == Hop::kFirst) lies_in_gradient[to] = false;
    }
  }
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    if (const Recv* recv = std::get_if<Recv>(&graph.tasks()[i])) {
      arrivals.push_back({recv->id, recv->from, TaskId(i), false});
    }
  }
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return std::tie(a.id, a.from) < std::tie(b.id, b.from); });
}

Status GradientRun::allocate_residuals(Device& device) {
  if (!keeps_residual) return Status::ok();
  for (std::unique_ptr<DeviceBuffer>& one : residuals) {
    Result<std::unique_ptr<DeviceBuffer>> memory = device.allocate(elements * sizeof(float));
    if (!memory) return memory.status();
    one = std::move(*memory);
  }
  return Status::ok();
}

View GradientRun::memory(Slice slice) const {
  const Bytes width = bytes_of(spec.dtype);
  return data.slice(slice.first * width, slice.count * width);
}

compll::Residual GradientRun::residual(const compll::Codec& codec, Slice slice) const {
  if (!codec.info().feedback) return {};
  const auto at = [&](int which) { return reinterpret_cast<float*>(residuals[which]->view().data) + slice.first; };
  return {at(committed), at(1 - committed)};
}

float* GradientRun::committed_residual() const {
  return keeps_residual ? reinterpret_cast<float*>(residuals[committed]->view().data) : nullptr;
}

GradientRun::Arrival* GradientRun::arrival(MessageId id, Rank from) {
  const auto found =
      std::lower_bound(arrivals.begin(), arrivals.end(), std::tie(id, from),
                       [](const Arrival& one, const auto& wanted) { return std::tie(one.id, one.from) < wanted; });
  if (found == arrivals.end() || found->id != id || found->from != from) return nullptr;
  return &*found;
}

void GradientRun::begin(std::uint32_t new_step, View new_data) {
  data = new_data;
  step = new_step;
  active = true;
  finite = true;
  tasks_left = static_cast<int>(graph.tasks().size());
  for (std::size_t i = 0; i < waits_for.size(); ++i) waits_for[i] = graph.predecessors(TaskId(i));
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i] = {{}, 0, graph.uses(BufferId(i)), false, false, true};
  for (Arrival& one : arrivals) one.begun = false;
  begun = Clock::now();
}

}  // namespace casync::runtime
