// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/left_ranks.h"

#include <algorithm>
#include <memory>
#include <string>

namespace casync::runtime {
namespace {

bool has_completed(const Leaver& leaver, const GradientRun& run) {
  if (run.step.number() != leaver.steps) return run.step.number() < leaver.steps;
  return std::find(leaver.gradients.begin(), leaver.gradients.end(), run.key) != leaver.gradients.end();
}

}  // namespace

void LeftRanks::check() {
  if (leavers_.empty()) return;
  if (!asynchronous_.empty()) {
    for (const Leaver& leaver : leavers_) {
      if (leaver.steps != kAllSteps) return failures_.report(leaver.why);
      asynchronous_.end_rank(leaver.rank, leaver.steps - 1);  // its own word may come after its goodbye
    }
    return;
  }
  for (const std::unique_ptr<GradientRun>& run : runs_.gradients()) {
    if (!run->step.is_under_way()) continue;
    for (const Leaver& leaver : leavers_) {
      if (has_completed(leaver, *run)) continue;
      return failures_.report({leaver.why.code(), leaver.why.message() + "; gradient " + run->spec.name + ", step " +
                                                      std::to_string(run->step.number()) + ", needs more of it"});
    }
  }
}

}  // namespace casync::runtime
