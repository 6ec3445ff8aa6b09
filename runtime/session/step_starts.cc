// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/step_starts.h"

#include "casync/patterns/pairs.h"
#include "runtime/session/handles.h"

namespace casync::runtime {

void StepStarts::start(std::span<const Submission> submissions, std::span<Handle> handles, Clock::time_point now) {
  const std::uint32_t step = tables_.step.number();
  starts_.clear();
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const std::size_t index = static_cast<std::size_t>(submissions[i].gradient);
    tables_.submissions.note(index, now);
    handles[i] = handle_of(step, submissions[i].gradient);
    if (GradientRun* const run = tables_.gradients.run(index); run != nullptr) {
      starts_.push_back(start_of(run, step, submissions[i]));
    } else {
      held_.push_back({index, step, submissions[i]});
    }
  }
  const std::size_t held = submissions.size() - starts_.size();
  if (held > 0) parts_.executor->requests().hold(static_cast<int>(held));
  parts_.executor->requests().submit(starts_);
}

void StepStarts::start_held() {
  std::vector<GradientStart> starts;
  std::erase_if(held_, [&](const Held& held) {
    GradientRun* const run = tables_.gradients.run(held.gradient);
    if (run != nullptr) starts.push_back(start_of(run, held.step, held.submission));
    return run != nullptr;
  });
  parts_.executor->requests().start_held(starts);
}

/// The run that stands for `run` in a step of parameters: it goes to the neighbours of this step, or makes a consensus.
/// Null: `run` itself makes the step's result.
GradientRun* StepStarts::gossip_of(const GradientRun& run) const {
  const CurrentStep& step = tables_.step;
  if (step.exchanged() != Exchanged::kParameters) return nullptr;
  if (step.is_consensus()) return run.related.consensus();
  if (parts_.plan.mode.neighbours != Neighbours::kPairs) return &run.related.gossip(0);
  const auto round = pairs::round_of(parts_.plan.seed, step.number(), parts_.launch.ranks);
  return &run.related.gossip(static_cast<std::size_t>(round));
}

GradientStart StepStarts::start_of(GradientRun* run, std::uint32_t step, const Submission& one) const {
  return {run, step, one.data, one.device_data, ready_.of(one.gradient), gossip_of(*run)};
}

}  // namespace casync::runtime
