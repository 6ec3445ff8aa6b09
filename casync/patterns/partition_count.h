// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/check.h"
#include "base/units.h"

namespace casync {

/// Least bytes worth a partition of its own: with fewer, a round trip costs more than splitting saves.
inline constexpr Bytes kLeastOwnedBytes = 64_KiB;
/// Least partition bytes for each rank: with every partition a rank sends and receives two messages more, so the least
/// partition grows with the group (256 KiB for 1,024 ranks). Otherwise a large model on many ranks would be tens of
/// thousands of messages a rank and step.
inline constexpr Bytes kLeastBytesForEachRank = 256;

constexpr Bytes least_owned_bytes(int ranks) {
  return std::max(kLeastOwnedBytes, kLeastBytesForEachRank * static_cast<Bytes>(ranks));
}
/// Bytes of a partition if a plan doesn't say: small enough that encoding one overlaps sending another,
/// large enough that a message's fixed cost does not show.
inline constexpr Bytes kDefaultPartitionBytes = 1_MiB;
/// Least bytes of a payload where a plan doesn't say how many partitions there are: about as many as 10 Gb/s carry in
/// the time that a message costs its two ends.
inline constexpr Bytes kLeastPayloadBytes = 16_KiB;
/// The limit on a gradient's partitions, however small a plan's partition_bytes.
inline constexpr int kMostPartitions = 65536;

/// Returns the number of partitions for a gradient of `bytes` that `owning` of the ranks own: about partition_bytes
/// each, a multiple of the owners once each can own a worthwhile one (least_owned_bytes, or partition_bytes if that is
/// less), so that all their links carry the same; for smaller gradients as many worthwhile ones as there are, at
/// least 1. At most kMostPartitions. `partition_bytes` 0 counts as 1.
inline int choose_partitions(Bytes bytes, int ranks, int owning, Bytes partition_bytes) {
  CASYNC_CHECK(ranks >= 1 && owning >= 1);
  const auto owners = static_cast<std::size_t>(owning);
  partition_bytes = std::max<Bytes>(partition_bytes, 1);
  const Bytes worthwhile = std::min(partition_bytes, least_owned_bytes(ranks));
  const std::size_t most = std::max(kMostPartitions / owners * owners, std::size_t{1});
  std::size_t count = bytes / worthwhile;
  if (count >= owners) count = round_up(ceil_div(bytes, partition_bytes), owners);
  return static_cast<int>(std::clamp<std::size_t>(count, 1, most));
}
/// The same where every rank owns some.
inline int choose_partitions(Bytes bytes, int ranks, Bytes partition_bytes) {
  return choose_partitions(bytes, ranks, ranks, partition_bytes);
}

/// Returns the number of partitions if a plan doesn't say, where a payload has `payload_share` of its partition's
/// bytes: as choose_partitions() with kDefaultPartitionBytes, but no more than all payloads together have
/// kLeastPayloadBytes, at least 1. Then, too, it is a multiple of the owners, or less than one for each.
inline int default_partitions(Bytes bytes, int ranks, int owning, double payload_share) {
  const int count = choose_partitions(bytes, ranks, owning, kDefaultPartitionBytes);
  if (!(payload_share < 1)) return count;  // it is large enough
  const double payloads = static_cast<double>(bytes) * payload_share / static_cast<double>(kLeastPayloadBytes);
  if (payloads >= count) return count;
  const int most = std::max(static_cast<int>(payloads), 1);
  return most >= owning ? most / owning * owning : most;
}

}  // namespace casync
