// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_buffers.h"

#include <utility>
#include <variant>

#include "runtime/executor/bundle.h"

namespace casync::runtime {

RunBuffers::RunBuffers(const TaskGraph& graph, const HopCodecs& codecs, const Bundle* bundle, Elements bundled)
    : graph_(graph),
      codecs_(codecs),
      bundle_(bundle),
      bundled_(bundled),
      states_(graph.buffers().size()),
      lies_in_gradient_(graph.buffers().size()) {}

Bytes RunBuffers::bound_of(BufferId buffer) const {
  const Buffer& plan = of(buffer);
  return bundle_ != nullptr ? bundle_->bytes(plan.hop) : codecs_.of(plan.hop).encoded_bound(plan.slice.count);
}

void RunBuffers::lie_in_gradient() {
  // A result is made in the gradient's memory, while the code of it may still be on its way to others.
  const bool has_result = codecs_.first->info().has_result;
  for (std::size_t i = 0; i < count(); ++i) {
    const Hop hop = graph_.buffers()[i].hop;
    lies_in_gradient_[i] = codecs_.of(hop).info().identity && !(has_result && hop == Hop::kSecond);
  }
  for (const Primitive& task : graph_.tasks()) {
    const Recv* const recv = std::get_if<Recv>(&task);
    if (recv != nullptr && of(recv->to).hop != Hop::kSecond) lies_in_gradient_[TaskGraph::index(recv->to)] = false;
  }
}

void RunBuffers::begin() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i] = {{}, 0, graph_.uses(BufferId(static_cast<std::uint32_t>(i))), false, false, true};
  }
}

View RunBuffers::release(BufferId buffer) {
  State& state = at(buffer);
  if (--state.uses_left > 0 || !state.from_arena) return {};
  return {std::exchange(state.memory, {}).data, bound_of(buffer)};
}

View RunBuffers::take(BufferId buffer) {
  State& state = at(buffer);
  if (!state.from_arena || state.memory.data == nullptr) return {};
  return {std::exchange(state, {}).memory.data, bound_of(buffer)};
}

}  // namespace casync::runtime
