// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync::tools {

/// Codecs that are written twice, by hand and in the language: how fast what is generated is beside the other, as a
/// table in Markdown. All of them, or those named. Returns the program's exit code.
int print_pairs(const std::vector<std::string>& names);

}  // namespace casync::tools
