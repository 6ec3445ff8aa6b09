// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime {

using BlobRef = std::shared_ptr<const std::string>;  // shared: the answer to all ranks holds each blob once

/// One rank's part of a collective call.
struct GatherCall {
  std::string what;
  BlobRef blob;
  Clock::time_point deadline;
};

/// The result of a collective call, for these ranks.
struct GatherAnswer {
  std::vector<Rank> to;
  Result<std::vector<BlobRef>> blobs;  ///< by rank
};

/// The collective calls of all ranks: the n-th calls of all ranks are one collective call. Plain data, kept by rank 0.
class GatherBook {
 public:
  explicit GatherBook(int ranks) : next_(static_cast<std::size_t>(ranks), 0) {}

  /// Enters the next call of `rank`. Returns an answer when that decides the call: all ranks have made it, or
  /// (InvalidArgument) its name differs from that of the first rank's call, or it was decided earlier.
  std::optional<GatherAnswer> call(Rank rank, GatherCall call);

  /// The calls whose time is up: Timeout, naming the ranks that did not come.
  std::vector<GatherAnswer> expire(Clock::time_point now);
  Clock::time_point next_deadline() const;

  /// The rank waits for a call of its own: it can make no other.
  bool is_waiting(Rank rank) const;
  /// The name of a call that is waiting, "" when there is none.
  std::string waiting_for() const;
  /// The ranks that have not made the first call of this name which others wait for; none if nobody waits.
  std::vector<Rank> missing(const std::string& what) const;

 private:
  struct Entry {
    std::string what;
    Rank first = 0;
    std::map<Rank, BlobRef> blobs;  ///< of the ranks that wait
    Clock::time_point deadline;
    std::optional<Status> failure;  ///< the call's decided failure, which the other ranks will hear
    int called = 0;
  };

  GatherAnswer fail(Entry& entry, const Status& why);
  std::vector<Rank> missing(const Entry& entry) const;
  Status mismatch(std::uint64_t number, const Entry& entry, Rank rank, const std::string& what) const;
  int ranks() const { return static_cast<int>(next_.size()); }

  std::vector<std::uint64_t> next_;  ///< by rank: the number of its next call
  std::map<std::uint64_t, Entry> entries_;
};

/// "rank 3", "ranks 1, 2".
std::string list_ranks(const std::vector<Rank>& ranks);
/// "\"places\": ranks 1, 2 have not come yet", of many the first ones and the number of the others.
std::string not_come(const std::string& name, std::vector<Rank> ranks);

}  // namespace casync::runtime
