// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace casync {

/// What one gradient gives its owners to merge.
struct OwnedGradient {
  std::string_view name;
  Elements elements = 0;
  int partitions = 1;
};

/// make_graph's `first_owner` of each, so that all ranks own about as many elements: by name, each gradient goes where
/// least is owned so far, and to the next rank in turn where all own alike. A function of names, sizes and partitions,
/// in whatever order they come.
std::vector<std::size_t> first_owners(std::span<const OwnedGradient> gradients, int ranks);

}  // namespace casync
