// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync::tools {

/// How fast generated codecs are beside the yardsticks, whose loops are written by hand, as a table in Markdown. All
/// that have one, or those named. Returns the program's exit code.
int print_pairs(const std::vector<std::string>& names);

}  // namespace casync::tools
