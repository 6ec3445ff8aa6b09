// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"

namespace casync::runtime {

/// The peers whose first message has come, and the crowd that they make: true once what waits here is more than it
/// should be, until it is half of that. In between there is a distance, so that notices stay few.
class MetPeers {
 public:
  MetPeers(int ranks, Bytes most_held) : met_(static_cast<std::size_t>(ranks)), most_held_(most_held) {}

  bool has(Rank peer) const { return met_[static_cast<std::size_t>(peer)]; }
  /// A message of this peer has come.
  void add(Rank peer) {
    auto met = met_[static_cast<std::size_t>(peer)];
    if (!met) new_.push_back(peer);
    met = true;
  }
  /// Returns the peers that have been added since the last call.
  std::vector<Rank> take_new() { return std::exchange(new_, {}); }

  /// A crowd has begun, and is not over: a peer that is met now has not heard of it.
  bool is_crowded() const { return crowded_; }
  /// True: what waits begins to be too much; false: that is over; nothing: it is as it was.
  std::optional<bool> crowd_change(Bytes held) {
    if (crowded_ ? held > most_held_ / 2 : held <= most_held_) return std::nullopt;
    crowded_ = !crowded_;
    return crowded_;
  }

 private:
  std::vector<bool> met_;  // by rank
  std::vector<Rank> new_;
  Bytes most_held_;
  bool crowded_ = false;
};

}  // namespace casync::runtime
