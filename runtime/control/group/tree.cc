// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/tree.h"

#include <algorithm>

namespace casync::runtime {

Rank Tree::place(const Identity& who) {
  if (ranks_ <= kStarRanks || placed_.count(who.rank) != 0) return placed_[who.rank] = 0;
  // A machine without a name is nobody's neighbour.
  const bool named = !who.machine.empty();
  const bool near = named && (who.machine == parents_.front().who.machine || speakers_.count(who.machine) != 0);
  const Rank parent = take(who, near);
  if (parent == kWait) return kWait;
  placed_[who.rank] = parent;
  if (named && !near) speakers_.emplace(who.machine, who.rank);
  return parent;
}

/// The first parent with room, which is the one with the shortest way to rank 0.
Rank Tree::take(const Identity& who, bool near) {
  for (Parent& parent : parents_) {
    const bool is_near = parent.who.machine == who.machine;
    const bool speaks = parent.who.rank == 0 || speakers_.count(parent.who.machine) == 0 ||
                        speakers_.at(parent.who.machine) == parent.who.rank;
    if (near ? !is_near : !speaks) continue;
    int& children = near ? parent.near : parent.far;
    if (children >= kFan) continue;
    ++children;
    return parent.who.rank;
  }
  return kWait;
}

void Tree::listens(const Identity& who, std::vector<std::string> addresses) {
  if (!addresses.empty()) parents_.push_back({who, std::move(addresses), 0, 0});
}

const std::vector<std::string>& Tree::addresses_of(Rank rank) const {
  return std::find_if(parents_.begin(), parents_.end(), [&](const Parent& parent) { return parent.who.rank == rank; })
      ->addresses;
}

}  // namespace casync::runtime
