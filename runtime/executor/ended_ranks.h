// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace casync::runtime {

/// Asynchronous ranks that have ended their steps. The progress thread's, unless a comment says otherwise.
class EndedRanks {
 public:
  explicit EndedRanks(int ranks) : ended_at_(static_cast<std::size_t>(ranks), kNotEnded) {}

  /// A rank has ended its steps, so many. Returns false if that is known.
  bool end(Rank rank, std::uint32_t steps);
  bool has_ended(Rank rank) const { return ended_at_[static_cast<std::size_t>(rank)] != kNotEnded; }
  /// The first rank that takes no part in `step`; nothing: all do.
  std::optional<Rank> first_without(std::uint32_t step) const;
  /// Any thread.
  bool are_all() const { return count_.load() == ended_at_.size(); }
  /// "rank 2 has", "ranks 1, 2 have": those that have not ended.
  std::string others() const;

 private:
  static constexpr std::uint32_t kNotEnded = ~0u;

  std::vector<std::uint32_t> ended_at_;  ///< by rank: the number of its steps
  std::atomic<std::size_t> count_{0};
};

}  // namespace casync::runtime
