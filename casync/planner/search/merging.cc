// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/merging.h"

#include <algorithm>

namespace casync {

std::vector<std::size_t> merged_groups(std::span<const ReadyMessage> messages, const ChannelCost& cost) {
  std::vector<std::size_t> groups;
  double starts_s = 0, bytes = 0;  // of the last group
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ReadyMessage& next = messages[i];
    if (groups.empty() || !next.may_join || next.ready_s >= starts_s + cost.startup_s) {
      const double free_s = groups.empty() ? 0 : starts_s + cost.startup_s + bytes * cost.byte_s;
      groups.push_back(i);
      starts_s = free_s;
      bytes = 0;
    }
    starts_s = std::max(starts_s, next.ready_s);
    bytes += next.bytes;
  }
  return groups;
}

double end_of_groups(std::span<const ReadyMessage> messages, std::span<const std::size_t> groups,
                     const ChannelCost& cost) {
  double free_s = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::size_t end = g + 1 < groups.size() ? groups[g + 1] : messages.size();
    double bytes = 0;
    for (std::size_t i = groups[g]; i < end; ++i) bytes += messages[i].bytes;
    free_s = std::max(free_s, messages[end - 1].ready_s) + cost.startup_s + bytes * cost.byte_s;
  }
  return free_s;
}

}  // namespace casync
