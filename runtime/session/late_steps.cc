// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_steps.h"

#include <algorithm>
#include <utility>

namespace casync::runtime {

StepResult LateSteps::end() {
  StepResult result = std::exchange(results_[number_ % staleness_], {});
  const StepResult noted = std::exchange(noted_, {});
  if (!noted.finite && (result.finite || noted.first_non_finite < result.first_non_finite)) result = noted;
  result.step = number_++;
  return result;
}

void LateSteps::reduce(StepResult result) {
  if (!result.finite) not_finite_.insert(reduced_);
  results_[reduced_++ % staleness_] = std::move(result);
}

/// A result that is older than those of the step that is due now has been reduced.
void LateSteps::gets(std::uint32_t step, const std::string& gradient) {
  if (step + std::uint64_t{staleness_} < number_ && not_finite_.contains(step)) note_not_finite(gradient);
}

void LateSteps::note_not_finite(const std::string& gradient) {
  if (noted_.finite || gradient < noted_.first_non_finite) noted_.first_non_finite = gradient;
  noted_.finite = false;
}

void LateSteps::go_to(std::uint32_t step) {
  number_ = begun_ = reduced_ = step;
  std::fill(results_.begin(), results_.end(), StepResult{});
  not_finite_.clear();
  noted_ = {};
}

}  // namespace casync::runtime
