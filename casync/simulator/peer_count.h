// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace casync {

/// Counts the distinct peers of a port; a peer counts until it was removed as often as it was added.
class PeerCount {
 public:
  int peers() const { return static_cast<int>(messages_.size()); }

  void add(Rank peer) {
    const auto found = find(peer);
    if (found == messages_.end()) {
      messages_.emplace_back(peer, 1);
    } else {
      ++found->second;
    }
  }

  void remove(Rank peer) {
    const auto found = find(peer);
    if (--found->second > 0) return;
    *found = messages_.back();
    messages_.pop_back();
  }

 private:
  using Entry = std::pair<Rank, int>;

  std::vector<Entry>::iterator find(Rank peer) {
    return std::find_if(messages_.begin(), messages_.end(), [&](const Entry& entry) { return entry.first == peer; });
  }

  std::vector<Entry> messages_;
};

}  // namespace casync
