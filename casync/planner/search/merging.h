// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace casync {

/// A gradient as MG-WFBP sees it: a message on a channel that carries one at a time.
struct ReadyMessage {
  double ready_s = 0;
  double bytes = 0;
  bool may_join = true;  ///< the previous one: of the same type
};

/// Seconds of a message of b bytes: startup_s + b * byte_s.
struct ChannelCost {
  double startup_s = 0, byte_s = 0;
};

/// The merging of MG-WFBP (Shi, Chu, Li 2019), in one pass: a message, with those that it has been merged with, is
/// merged with the next one if that is ready earlier than the end of the message's startup. The condition sees one pair
/// at a time: see best_groups(). `messages` ascend by ready_s. Returns the position of each group's first message.
std::vector<std::size_t> merged_groups(std::span<const ReadyMessage> messages, const ChannelCost& cost);

/// The groups of neighbours of which the last arrives earliest; of equal ones those with the larger last group. Takes
/// time by the square of the number of messages.
std::vector<std::size_t> best_groups(std::span<const ReadyMessage> messages, const ChannelCost& cost);

/// The moment at which the last of these groups has arrived: each leaves when all of it is ready and the
/// previous group has arrived.
double end_of_groups(std::span<const ReadyMessage> messages, std::span<const std::size_t> groups,
                     const ChannelCost& cost);

}  // namespace casync
