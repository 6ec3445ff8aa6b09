// SPDX-License-Identifier: Apache-2.0
#include "casync/strategies/owners.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "casync/patterns/partition.h"
#include "casync/patterns/servers.h"

namespace casync {
namespace {

/// The place of the first of the `width` neighbours among `ranks` that own least together; the search starts at `from`.
std::size_t least_loaded(std::span<const Elements> owned, std::span<const Rank> ranks, std::size_t width,
                         std::size_t from) {
  const std::size_t count = ranks.size();
  const auto owned_at = [&](std::size_t place) { return owned[static_cast<std::size_t>(ranks[place % count])]; };
  Elements sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += owned_at(from + i);
  std::size_t best = from;
  for (std::size_t i = 0, least = sum; i + 1 < count; ++i) {
    sum += owned_at(from + i + width) - owned_at(from + i);
    if (sum < least) best = (from + i + 1) % count, least = sum;
  }
  return best;
}

}  // namespace

Owners::Owners(Topology topology)
    : topology_(std::move(topology)), owned_(static_cast<std::size_t>(std::max(topology_.ranks, 1))) {}

std::vector<std::size_t> Owners::assign(std::span<const OwnedGradient> gradients) {
  std::vector<std::size_t> by_name(gradients.size()), first(gradients.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::stable_sort(by_name.begin(), by_name.end(),
                   [&](std::size_t a, std::size_t b) { return gradients[a].name < gradients[b].name; });
  for (const std::size_t i : by_name) first[i] = assign(gradients[i]);
  return first;
}

Owners::Group& Owners::group_of(int servers) {
  const auto ranks = static_cast<int>(owned_.size());
  const int count = servers > 0 ? std::min(servers, ranks) : ranks;
  Group& group = groups_[count];
  if (group.ranks.empty()) group.ranks = server_ranks(topology_.node_of, ranks, count);
  return group;
}

std::size_t Owners::assign(const OwnedGradient& gradient) {
  Group& group = group_of(gradient.servers);
  const std::size_t count = group.ranks.size();
  const auto partitions = static_cast<std::size_t>(std::max(gradient.partitions, 1));
  // Only the ranks that own one partition more than others matter. If there are none, the next rank owns it.
  const std::size_t more = partitions % count;
  const std::size_t first = more == 0 ? group.next : least_loaded(owned_, group.ranks, more, group.next);
  for (std::size_t p = 0; p < partitions; ++p) {
    owned_[static_cast<std::size_t>(group.ranks[(first + p) % count])] +=
        partition_begin(gradient.elements, partitions, p + 1) - partition_begin(gradient.elements, partitions, p);
  }
  group.next = (first + std::max<std::size_t>(more, 1)) % count;
  return first;
}

std::vector<std::size_t> first_owners(std::span<const OwnedGradient> gradients, const Topology& topology) {
  return Owners(topology).assign(gradients);
}

}  // namespace casync
