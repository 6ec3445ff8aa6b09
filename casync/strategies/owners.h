// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace casync {

/// The work that one gradient gives to its owners.
struct OwnedGradient {
  std::string_view name;
  Elements elements = 0;
  int partitions = 1;
};

/// Chooses make_graph's `first_owner`, so that all ranks own about as many elements: by name, each gradient goes to the
/// ranks that own the fewest elements so far, and to the next rank in turn if all own the same number.
class Owners {
 public:
  explicit Owners(int ranks);
  /// The first owner of each gradient. A function of names, sizes and partitions of these gradients, in any order, and
  /// of the earlier calls.
  std::vector<std::size_t> assign(std::span<const OwnedGradient> gradients);

 private:
  std::size_t assign(const OwnedGradient& gradient);

  std::vector<Elements> owned_;  ///< by rank
  std::size_t turn_ = 0;
};

/// The same if these gradients are all there are.
std::vector<std::size_t> first_owners(std::span<const OwnedGradient> gradients, int ranks);

}  // namespace casync
