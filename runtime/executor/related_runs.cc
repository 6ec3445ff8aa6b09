// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/related_runs.h"

#include <utility>

#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

RelatedRuns::RelatedRuns() = default;
RelatedRuns::~RelatedRuns() = default;

void RelatedRuns::add_warm_up(std::uint32_t until, std::unique_ptr<GradientRun> run) {
  warm_up_.push_back({until, std::move(run)});
}

GradientRun* RelatedRuns::warm_up_in(std::uint32_t step) const {
  for (const WarmUp& stage : warm_up_) {
    if (step < stage.until) return stage.run.get();
  }
  return nullptr;
}

void RelatedRuns::add_gossip(std::unique_ptr<GradientRun> run) { gossip_.push_back(std::move(run)); }

void RelatedRuns::add_consensus(std::unique_ptr<GradientRun> run) {
  consensus_ = run.get();
  add_gossip(std::move(run));
}

}  // namespace casync::runtime
