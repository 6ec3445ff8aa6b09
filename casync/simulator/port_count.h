// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace casync {

/// Counts the distinct ports with messages from a port or for it: ranks of a node that share one count once. A port
/// counts until it was removed as often as it was added.
class PortCount {
 public:
  int ports() const { return static_cast<int>(messages_.size()); }

  void add(std::size_t port) {
    const auto found = find(port);
    if (found == messages_.end()) {
      messages_.emplace_back(port, 1);
    } else {
      ++found->second;
    }
  }

  void remove(std::size_t port) {
    const auto found = find(port);
    if (--found->second > 0) return;
    *found = messages_.back();
    messages_.pop_back();
  }

 private:
  using Entry = std::pair<std::size_t, int>;

  std::vector<Entry>::iterator find(std::size_t port) {
    return std::find_if(messages_.begin(), messages_.end(), [&](const Entry& entry) { return entry.first == port; });
  }

  std::vector<Entry> messages_;
};

}  // namespace casync
