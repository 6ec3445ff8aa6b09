// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace casync {

/// The finite number that is the whole of `text`, whatever the locale; nothing when it is none.
inline std::optional<double> number_from(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Returns true if `value` is `least` plus a whole number of steps; except for rounding, unless all three are whole. A
/// step of 0 accepts any value.
inline bool is_on_step(double value, double least, double step) {
  if (step == 0) return true;
  const auto is_whole = [](double number) { return number == std::floor(number); };
  const bool is_exact = std::fabs(value - least) <= 0x1p53;
  if (is_exact && is_whole(value) && is_whole(least) && is_whole(step)) return std::fmod(value - least, step) == 0;
  const double steps = (value - least) / step;
  return std::fabs(steps - std::round(steps)) <= 1e-9 * std::fmax(1, std::fabs(steps));
}

}  // namespace casync
