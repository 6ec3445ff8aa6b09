// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

namespace casync::tools {

/// Returns the text that std::printf would print, at most 399 characters of it.
std::string formatted(const char* format, auto... arguments) {
  char text[400];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

}  // namespace casync::tools
