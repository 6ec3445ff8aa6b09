// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <unordered_map>

namespace casync {

/// Counts the distinct ports with messages from a port or for it: ranks of a node that share one count once. A port
/// counts until it was removed as often as it was added. No call looks at the other ports: at an owner, each of
/// thousands of ranks may be one.
class PortCount {
 public:
  int ports() const { return static_cast<int>(messages_.size()); }

  void add(std::size_t port) { ++messages_[port]; }

  void remove(std::size_t port) {
    const auto found = messages_.find(port);
    if (--found->second == 0) messages_.erase(found);
  }

 private:
  std::unordered_map<std::size_t, int> messages_;  ///< by port; above 0
};

}  // namespace casync
