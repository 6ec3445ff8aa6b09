// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/link.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "base/number.h"

namespace casync::runtime {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Longest names first: "kbit" ends with "bit".
constexpr Unit kRates[] = {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"bit", 1}};
constexpr Unit kTimes[] = {{"us", 1e-6}, {"ms", 1e-3}};

// Longer than any job. A clock has room for thousands of it.
constexpr Seconds kLongest{1e6};

template <std::size_t kUnits>
std::optional<double> quantity(std::string_view text, const Unit (&units)[kUnits]) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = number_from(text.substr(0, text.size() - unit.name.size()));
    if (number) return *number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

Clock::duration Link::time_of(Bytes bytes) const {
  const Seconds time(static_cast<double>(bytes) * 8 / bits_per_second);
  return std::chrono::duration_cast<Clock::duration>(std::min(time, kLongest));
}

Result<Link> parse_link(const std::string& text) {
  const std::string_view whole = text;
  const std::size_t comma = whole.find(',');
  const auto rate = quantity(whole.substr(0, comma), kRates);
  const auto latency = comma == std::string_view::npos ? std::optional(0.0) : quantity(whole.substr(comma + 1), kTimes);
  const bool usable = rate && latency && *rate >= 1 && *latency >= 0 && *latency <= 10;
  if (!usable) {
    return invalid_argument(fmt::format(
        "CASYNC_LINK={}: expected a rate (bit, kbit, mbit or gbit) and perhaps a latency (us or ms, up to 10 s), such "
        "as 1gbit or 1gbit,1ms",
        text));
  }
  return Link{*rate, std::chrono::duration_cast<Clock::duration>(Seconds(*latency)), text};
}

}  // namespace casync::runtime
