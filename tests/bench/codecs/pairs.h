// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync::tools {

/// Prints a Markdown table that compares generated codecs with the yardsticks, whose loops are written by hand: all
/// that have a yardstick, or those named. Returns the program's exit code.
int print_pairs(const std::vector<std::string>& names);

}  // namespace casync::tools
