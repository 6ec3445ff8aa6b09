// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_table.h"

namespace casync::runtime {

Status RunTable::check(std::span<GradientRun* const> runs) const {
  for (const GradientRun* run : runs) {
    if (find(run->key) == nullptr) continue;
    return invalid_argument("gradient " + run->spec.name + " has the same 64-bit hash as another: rename it");
  }
  return Status::ok();
}

void RunTable::add(std::span<GradientRun* const> runs) {
  for (GradientRun* run : runs) {
    run->tasks.set_number(static_cast<std::uint32_t>(by_index_.size()));
    by_index_.push_back(run);
    by_key_.emplace(run->key, run);
  }
}

void RunTable::own(std::vector<std::unique_ptr<GradientRun>> gradients) {
  for (std::unique_ptr<GradientRun>& gradient : gradients) gradients_.push_back(std::move(gradient));
}

GradientRun* RunTable::find(std::uint64_t key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

}  // namespace casync::runtime
