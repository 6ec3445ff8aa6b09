// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/step_comparisons.h"

#include <string>
#include <utility>

namespace casync::runtime {

Status StepComparisons::compare() {
  std::lock_guard comparing(mutex_);
  Claim claim;
  {
    std::lock_guard lock(tables_.mutex);
    if (are_done()) return Status::ok();  // by another thread
    const std::string step = std::to_string(tables_.step.number());
    claim.name = "comparison " + std::to_string(parts_.executor->comparisons().count() + 1) + " of steps";
    claim.facts.emplace_back("step", step);
    claim.facts.emplace_back("a state that was loaded", loaded_ ? "one of step " + step : "none");
    loaded_ = false;
    is_comparing_ = true;
  }
  const Status agreed = parts_.group->agree(std::move(claim), parts_.deadline());
  std::lock_guard lock(tables_.mutex);
  is_comparing_ = false;
  if (agreed) parts_.executor->comparisons().end();
  return agreed;
}

void StepComparisons::peer_compares(std::uint64_t comparisons) {
  std::uint64_t due = due_.load();
  while (due < comparisons && !due_.compare_exchange_weak(due, comparisons)) {
  }
}

void StepComparisons::state_loaded(std::uint32_t steps_before) {
  loaded_ = true;
  const std::uint64_t next = parts_.executor->comparisons().count() + (is_comparing_ ? 2 : 1);
  peer_compares(next);  // a peer may wait for it already
  parts_.executor->comparisons().want(next, steps_before);
}

}  // namespace casync::runtime
