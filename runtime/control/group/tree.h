// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/control/wire/identity.h"

namespace casync::runtime {

/// Up to so many ranks all connect to rank 0.
inline constexpr int kStarRanks = 64;
/// A rank has at most so many children on its own machine, and as many on others.
inline constexpr int kFan = 32;

/// The parent of each rank, which rank 0 chooses when the rank joins: one rank of each machine connects for the others
/// there. Plain data.
class Tree {
 public:
  explicit Tree(const Identity& root) : ranks_(root.ranks), parents_{{root, {}, 0, 0}} {}

  /// The parent of a rank: 0, another one, or kWait while the rank that shall be it has not said where it listens. A
  /// rank that asks again could not reach its parent, and goes to rank 0.
  Rank place(const Identity& who);
  static constexpr Rank kWait = -1;

  /// `who` listens there for children.
  void listens(const Identity& who, std::vector<std::string> addresses);
  /// The addresses that a parent listens on.
  const std::vector<std::string>& addresses_of(Rank rank) const;

 private:
  struct Parent {
    Identity who;
    std::vector<std::string> addresses;
    int near = 0;  ///< children on its machine
    int far = 0;
  };
  Rank take(const Identity& who, bool near);

  int ranks_;
  std::vector<Parent> parents_;           ///< rank 0, then in the order in which they began to listen
  std::map<std::string, Rank> speakers_;  ///< by machine: the first rank that came from there
  std::map<Rank, Rank> placed_;           ///< the parent of each rank
};

}  // namespace casync::runtime
