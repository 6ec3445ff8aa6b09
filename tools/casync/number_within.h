// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

namespace casync::tools {

/// Accepts numbers from `least` to `most`, as CLI::Range does, which accepts NaN as well.
inline CLI::Validator number_within(double least, double most) {
  const CLI::Range range(least, most);
  const auto fault_of = [range, least, most](std::string& text) -> std::string {
    double number = 0;
    if (!CLI::detail::lexical_cast(text, number) || !std::isnan(number)) return range(text);
    return "Value " + text + " not in range " + std::to_string(least) + " to " + std::to_string(most);
  };
  return CLI::Validator(fault_of, range.get_description());
}

}  // namespace casync::tools
