// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "casync/model/topology.h"

namespace casync {

/// The work that one gradient gives to its owners.
struct OwnedGradient {
  std::string_view name;
  Elements elements = 0;
  int partitions = 1;
  int servers = 0;  ///< so many of the ranks own it; 0: all
};

/// Chooses make_graph's `first_owner`, so that all ranks own about as many elements: by name, each gradient goes to the
/// ranks, of those that may own it, that own the fewest elements so far, and to the next one in turn if all own the
/// same number.
class Owners {
 public:
  explicit Owners(Topology topology);
  /// The first owner of each gradient. A function of names, sizes and partitions of these gradients, in any order, and
  /// of the earlier calls.
  std::vector<std::size_t> assign(std::span<const OwnedGradient> gradients);

 private:
  /// Ranks that own gradients together.
  struct Group {
    std::vector<Rank> ranks;
    std::size_t next = 0;  ///< the first owner of the next gradient, unless another owns less
  };

  Group& group_of(int servers);
  std::size_t assign(const OwnedGradient& gradient);

  Topology topology_;
  std::vector<Elements> owned_;  ///< by rank
  std::map<int, Group> groups_;  ///< by number of ranks
};

/// The same if these gradients are all there are.
std::vector<std::size_t> first_owners(std::span<const OwnedGradient> gradients, const Topology& topology);

}  // namespace casync
