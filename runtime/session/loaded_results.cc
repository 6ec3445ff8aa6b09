// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/loaded_results.h"

#include <optional>

#include "runtime/session/late_states.h"

namespace casync::runtime {

Status LoadedResults::check(const SessionState& state, const LateGradients& gradients) const {
  for (const auto& [name, one] : state.gradients) {
    const std::optional<std::string> of = gradient_of_late(name, one);
    if (!of) continue;
    if (one.codec != late_label(staleness_)) {
      return invalid_argument("gradient " + *of + ": the state has results that come " + one.codec +
                              ", by the plan here they come " + late_label(staleness_));
    }
    const LateGradient* const gradient = gradients.find(*of);
    if (gradient != nullptr) CASYNC_RETURN_IF_ERROR(check_size(gradient->spec(), one));
  }
  return Status::ok();
}

void LoadedResults::load(const SessionState& state) {
  results_.clear();
  for (const auto& [name, one] : state.gradients) {
    if (gradient_of_late(name, one)) results_.emplace(name, one);
  }
}

Status LoadedResults::give(LateGradient& gradient) {
  const GradientSpec& spec = gradient.spec();
  for (std::uint32_t place = 0; place < staleness_; ++place) {
    const auto late = results_.find(late_name(spec.name, staleness_, place));
    if (late == results_.end()) continue;
    CASYNC_RETURN_IF_ERROR(check_size(spec, late->second));
    CASYNC_RETURN_IF_ERROR(gradient.load(place, late->second));
    results_.erase(late);
  }
  return Status::ok();
}

}  // namespace casync::runtime
