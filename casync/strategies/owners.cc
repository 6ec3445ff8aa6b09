// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/owners.h"

#include <algorithm>
#include <numeric>

#include "casync/patterns/partition.h"

namespace casync {
namespace {

/// The first of the `width` neighbouring ranks that own least together; the search starts at `from`.
std::size_t least_loaded(std::span<const Elements> owned, std::size_t width, std::size_t from) {
  const std::size_t ranks = owned.size();
  Elements sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += owned[(from + i) % ranks];
  std::size_t best = from;
  for (std::size_t i = 0, least = sum; i + 1 < ranks; ++i) {
    sum += owned[(from + i + width) % ranks] - owned[(from + i) % ranks];
    if (sum < least) best = (from + i + 1) % ranks, least = sum;
  }
  return best;
}

}  // namespace

Owners::Owners(int ranks) : owned_(static_cast<std::size_t>(std::max(ranks, 1))) {}

std::vector<std::size_t> Owners::assign(std::span<const OwnedGradient> gradients) {
  std::vector<std::size_t> by_name(gradients.size()), first(gradients.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::stable_sort(by_name.begin(), by_name.end(),
                   [&](std::size_t a, std::size_t b) { return gradients[a].name < gradients[b].name; });
  for (const std::size_t i : by_name) first[i] = assign(gradients[i]);
  return first;
}

std::size_t Owners::assign(const OwnedGradient& gradient) {
  const std::size_t count = owned_.size();
  const auto partitions = static_cast<std::size_t>(std::max(gradient.partitions, 1));
  // Only the ranks that own one partition more than others matter. If there are none, it is the next rank's turn.
  const std::size_t more = partitions % count;
  const std::size_t first = more == 0 ? turn_ : least_loaded(owned_, more, turn_);
  for (std::size_t p = 0; p < partitions; ++p) {
    owned_[(first + p) % count] +=
        partition_begin(gradient.elements, partitions, p + 1) - partition_begin(gradient.elements, partitions, p);
  }
  turn_ = (first + std::max<std::size_t>(more, 1)) % count;
  return first;
}

std::vector<std::size_t> first_owners(std::span<const OwnedGradient> gradients, int ranks) {
  return Owners(ranks).assign(gradients);
}

}  // namespace casync
