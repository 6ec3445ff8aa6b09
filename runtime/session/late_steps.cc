// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_steps.h"

#include <algorithm>
#include <utility>

namespace casync::runtime {

StepResult LateSteps::end() {
  StepResult result = std::exchange(results_[number_ % staleness_], {});
  result.step = number_++;
  return result;
}

void LateSteps::reduce(StepResult result) { results_[reduced_++ % staleness_] = std::move(result); }

void LateSteps::note_not_finite(std::uint32_t place, const std::string& gradient) {
  StepResult& result = results_[(number_ + place) % staleness_];
  if (result.finite || gradient < result.first_non_finite) result.first_non_finite = gradient;
  result.finite = false;
}

void LateSteps::go_to(std::uint32_t step) {
  number_ = begun_ = reduced_ = step;
  std::fill(results_.begin(), results_.end(), StepResult{});
}

}  // namespace casync::runtime
