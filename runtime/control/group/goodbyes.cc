// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/goodbyes.h"

#include <algorithm>

namespace casync::runtime {

std::optional<Rank> Goodbyes::first_left() const {
  const auto first = std::find(left_.begin(), left_.end(), true);
  if (first == left_.end()) return std::nullopt;
  return static_cast<Rank>(first - left_.begin());
}

LastWords Goodbyes::words_of(Rank rank, std::string to_all) {
  return {std::move(to_all), std::exchange(hub_words_[rank], {})};
}

void Goodbyes::add(Rank rank, const LastWords& words, Clock::time_point now) {
  left_[static_cast<std::size_t>(rank)] = true;
  leavers_.add(rank, words.to_all);
  announce_due(now);
}

void Goodbyes::announce_all(Clock::time_point now) {
  for (const Goodbye& goodbye : leavers_.take(now)) announce_(goodbye);
}

}  // namespace casync::runtime
