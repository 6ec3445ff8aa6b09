// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/merging.h"

#include <algorithm>
#include <limits>

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

std::vector<std::size_t> best_groups(std::span<const ReadyMessage> messages, const ChannelCost& cost) {
  // The earliest end of the first so many messages, and the first message of their last group. What comes after them
  // never ends earlier for a later end of theirs.
  std::vector<double> end_s(messages.size() + 1);
  std::vector<std::size_t> first(messages.size() + 1);
  for (std::size_t count = 1; count <= messages.size(); ++count) {
    double bytes = 0;
    end_s[count] = std::numeric_limits<double>::infinity();
    for (std::size_t i = count; i-- > 0;) {
      bytes += messages[i].bytes;
      const double end = std::max(end_s[i], messages[count - 1].ready_s) + cost.startup_s + bytes * cost.byte_s;
      if (end <= end_s[count]) {
        end_s[count] = end;
        first[count] = i;
      }
      if (!messages[i].may_join) break;
    }
  }
  std::vector<std::size_t> groups;
  for (std::size_t count = messages.size(); count > 0; count = first[count]) groups.push_back(first[count]);
  std::reverse(groups.begin(), groups.end());
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
