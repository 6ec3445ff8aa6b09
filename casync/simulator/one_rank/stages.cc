// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/one_rank/stages.h"

#include "casync/simulator/one_rank.h"

namespace casync::one_rank {

void Stages::reset(std::span<const Outline* const> outlines, std::span<const int> priorities) {
  outlines_ = outlines;
  priorities_ = priorities;
  const std::size_t gradients = outlines.size();
  items_.clear();
  left_.assign(gradients, 0);
  gathered_from_.assign(gradients, 0);
  std::uint32_t places = 0;
  for (std::size_t g = 0; g < gradients; ++g) {
    const Outline& outline = *outlines_[g];
    gathered_from_[g] = places;
    places += static_cast<std::uint32_t>(outline.rounds) * static_cast<std::uint32_t>(outline.stages.size());
    for (std::size_t s = 0; s < outline.stages.size(); ++s) {
      const Stage& stage = outline.stages[s];
      if (!stage.aside && s + 1 < outline.stages.size()) continue;
      left_[g] += static_cast<std::uint32_t>(outline.rounds * (stage.gathers ? 1 : outline.lumps));
    }
  }
  gathered_.assign(places, 0);
}

void Stages::begin(std::uint32_t gradient) {
  const Outline& outline = *outlines_[gradient];
  if (outline.stages.empty()) return rank_.training.finish(gradient);
  for (int round = 0; round < outline.rounds; ++round) {
    const int items = outline.stages.front().gathers ? 1 : outline.lumps;
    for (int i = 0; i < items; ++i) enter(gradient, 0, static_cast<std::uint16_t>(round));
  }
}

/// Called when one item of the previous stage has come through, or the gradient begins.
void Stages::enter(std::uint32_t gradient, std::size_t at, std::uint16_t round) {
  const Outline& outline = *outlines_[gradient];
  for (;; ++at) {
    const Stage& stage = outline.stages[at];
    const bool one_before = at == 0 || outline.stages[at - 1].gathers;
    int items = 1;
    if (stage.gathers && !one_before) {
      std::uint32_t& gathered = gathered_[gathered_from_[gradient] + round * outline.stages.size() + at];
      if (++gathered < static_cast<std::uint32_t>(outline.lumps)) return;
    } else if (!stage.gathers && at > 0 && one_before) {
      items = outline.lumps;
    }
    for (int i = 0; i < items; ++i) {
      const auto item = static_cast<std::uint32_t>(items_.size());
      const UrgentTask task{priorities_[gradient], stage.hop, arrivals(), item};
      items_.push_back({gradient, static_cast<std::uint16_t>(at), round});
      if (stage.kind == Stage::Kind::kSend) {
        rank_.ports.queue(stage.between, task);
      } else {
        rank_.codec.queue(task);
      }
    }
    if (!stage.aside) return;
  }
}

void Stages::over(std::uint32_t item) {
  const auto [gradient, stage, round] = items_[item];
  const Outline& outline = *outlines_[gradient];
  const bool last = stage + std::size_t{1} == outline.stages.size();
  if (!last && !outline.stages[stage].aside) return enter(gradient, stage + std::size_t{1}, round);
  if (--left_[gradient] == 0) rank_.training.finish(gradient);
}

}  // namespace casync::one_rank
