// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/units.h"

namespace casync::ring {

constexpr Rank successor(Rank rank, int ranks) { return (rank + 1) % ranks; }
constexpr Rank predecessor(Rank rank, int ranks) { return (rank + ranks - 1) % ranks; }

/// The position of `rank` on a partition's way around the ring: the owner's successor has position 0, the
/// owner has position ranks - 1.
constexpr int position(Rank rank, Rank owner, int ranks) { return (rank - owner - 1 + 2 * ranks) % ranks; }

/// The rank at a position; the inverse of position().
constexpr Rank at(int position, Rank owner, int ranks) { return (owner + 1 + position) % ranks; }

/// The hop of the message that the rank at `position` sends while reducing (positions 0 .. ranks - 2).
constexpr std::uint32_t reduce_hop(int position) { return static_cast<std::uint32_t>(position); }

/// The hop of the message in which the rank at `position` sends the code of the one at `origin` on, where codes travel
/// side by side: 0 is its own.
constexpr std::uint32_t relay_hop(int origin, int position) { return static_cast<std::uint32_t>(position - origin); }

/// The hop of the message that the rank at `position` receives while gathering (positions 0 .. ranks - 2): the
/// hops go on where the reduction ended, the owner sending the first.
constexpr std::uint32_t gather_hop(int position, int ranks) { return static_cast<std::uint32_t>(ranks - 1 + position); }

}  // namespace casync::ring
