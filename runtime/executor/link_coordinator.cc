// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/link_coordinator.h"

#include <algorithm>

namespace casync::runtime {

LinkCoordinator::LinkCoordinator(int ranks)
    : sends_(static_cast<std::size_t>(ranks)), receives_(static_cast<std::size_t>(ranks)) {
  wants_.reserve(static_cast<std::size_t>(ranks) * 8);
}

void LinkCoordinator::want(Rank from, Rank to, Bytes bytes, Clock::time_point now) {
  wants_.push_back({{from, to}, bytes, now});
}

void LinkCoordinator::done(Rank from, Rank to) {
  sends_[static_cast<std::size_t>(from)] = 0;
  receives_[static_cast<std::size_t>(to)] = 0;
}

void LinkCoordinator::grant(Clock::time_point now, std::vector<Grant>& grants) {
  std::erase_if(wants_, [&](const Want& want) {
    char& sends = sends_[static_cast<std::size_t>(want.link.from)];
    char& receives = receives_[static_cast<std::size_t>(want.link.to)];
    if (sends != 0 || receives != 0 || !is_due(want, now)) return false;
    sends = receives = 1;
    grants.push_back(want.link);
    return true;
  });
}

Clock::time_point LinkCoordinator::next_due() const {
  Clock::time_point next = Clock::time_point::max();
  for (const Want& want : wants_) {
    const bool free =
        sends_[static_cast<std::size_t>(want.link.from)] == 0 && receives_[static_cast<std::size_t>(want.link.to)] == 0;
    if (free) next = std::min(next, want.since + kPatience);
  }
  return next;
}

}  // namespace casync::runtime
