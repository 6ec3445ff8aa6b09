// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/owners.h"

#include <algorithm>
#include <numeric>

#include "casync/patterns/partition.h"

namespace casync {
namespace {

/// Where `width` ranks next to each other own least together, looking from `from` on.
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

std::vector<std::size_t> first_owners(std::span<const OwnedGradient> gradients, int ranks) {
  std::vector<std::size_t> by_name(gradients.size()), first(gradients.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::stable_sort(by_name.begin(), by_name.end(),
                   [&](std::size_t a, std::size_t b) { return gradients[a].name < gradients[b].name; });
  const auto count = static_cast<std::size_t>(std::max(ranks, 1));
  std::vector<Elements> owned(count);
  std::size_t turn = 0;
  for (const std::size_t i : by_name) {
    const auto partitions = static_cast<std::size_t>(std::max(gradients[i].partitions, 1));
    // Those who have one more than others decide; where all have as many, it is whose turn it is.
    const std::size_t more = partitions % count;
    first[i] = more == 0 ? turn : least_loaded(owned, more, turn);
    for (std::size_t p = 0; p < partitions; ++p) {
      owned[(first[i] + p) % count] += partition_begin(gradients[i].elements, partitions, p + 1) -
                                       partition_begin(gradients[i].elements, partitions, p);
    }
    turn = (first[i] + std::max<std::size_t>(more, 1)) % count;
  }
  return first;
}

}  // namespace casync
