// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace casync::compll {

/// Replaces each {i} of `words` by text(i).
inline std::string filled(const std::string& words, const std::function<std::string(std::size_t)>& text) {
  std::string all;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at] != '{') {
      all += words[at];
      continue;
    }
    const std::size_t end = words.find('}', at);
    all += text(std::stoul(words.substr(at + 1, end - at - 1)));
    at = end;
  }
  return all;
}

}  // namespace casync::compll
