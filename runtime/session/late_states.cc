// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_states.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "compll/ops/cpu/convert.h"

namespace casync::runtime {
namespace {

// Texts in the codec's place of a late result.
constexpr std::string_view kOneLate = "step late", kManyLate = "steps late";

}  // namespace

std::string late_name(const std::string& gradient, std::uint32_t staleness, std::uint32_t place) {
  return gradient + std::string(kLateMark) + (staleness > 1 ? " " + std::to_string(place + 1) : "") + ")";
}

std::string late_label(std::uint32_t staleness) {
  return staleness == 1 ? "one " + std::string(kOneLate) : std::to_string(staleness) + " " + std::string(kManyLate);
}

std::optional<std::string> gradient_of_late(const std::string& name, const GradientState& state) {
  if (!state.codec.ends_with(kOneLate) && !state.codec.ends_with(kManyLate)) return std::nullopt;
  const std::size_t at = name.rfind(kLateMark);
  if (at == std::string::npos) return std::nullopt;
  return name.substr(0, at);
}

SessionState without_late(SessionState state) {
  std::erase_if(state.gradients, [](const auto& one) { return gradient_of_late(one.first, one.second).has_value(); });
  return state;
}

GradientState late_state(const std::vector<std::byte>& memory, const GradientSpec& gradient, std::uint32_t staleness) {
  std::vector<float> values(gradient.elements());
  compll::to_float32(gradient.dtype, memory.data(), values.size(), values.data());
  return {late_label(staleness), std::move(values)};
}

Status check_size(const GradientSpec& gradient, const GradientState& late) {
  if (late.residual.size() == gradient.elements()) return Status::ok();
  return invalid_argument("gradient " + gradient.name + ": a late result of " + std::to_string(late.residual.size()) +
                          " elements, it has " + std::to_string(gradient.elements()));
}

bool is_finite(const GradientState& late) {
  return std::all_of(late.residual.begin(), late.residual.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace casync::runtime
