// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_members.h"

#include <algorithm>

#include "base/check.h"

namespace casync::runtime {

void RoundMembers::take(const GradientRun& run) {
  const auto at = static_cast<std::size_t>(std::find(runs_.begin(), runs_.end(), &run) - runs_.begin());
  CASYNC_CHECK(at < runs_.size() && !is_taken_[at]);
  is_taken_[at] = true;
  ++taken_;
}

const GradientRun* RoundMembers::first_missing() const {
  const auto missing = std::find(is_taken_.begin(), is_taken_.end(), false);
  return missing == is_taken_.end() ? nullptr : runs_[static_cast<std::size_t>(missing - is_taken_.begin())];
}

void RoundMembers::reset() {
  std::fill(is_taken_.begin(), is_taken_.end(), false);
  taken_ = 0;
}

}  // namespace casync::runtime
