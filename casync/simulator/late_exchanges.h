// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace casync {

/// The exchanges of ranks whose results come several steps late: on each rank one step's exchange begins when that of
/// the previous step is over there, and the step that gets its result waits for it
/// (runtime/session/delayed_session.h).
class LateExchanges {
 public:
  /// `staleness`: at least 1.
  LateExchanges(std::size_t ranks, std::uint32_t gradients, std::uint32_t staleness)
      : gradients_(gradients), staleness_(staleness), ranks_(ranks, OfRank{0, 0, 0, gradients}) {}

  /// `rank` submits its next gradient, in their order.
  void submit(Rank rank) { ++of(rank).submitted; }
  /// Returns true, and counts it as begun, if the next gradient of the exchange under way has been submitted.
  bool begin_next(Rank rank) {
    OfRank& own = of(rank);
    if (own.begun == gradients_ || own.exchange * gradients_ + own.begun >= own.submitted) return false;
    ++own.begun;
    return true;
  }
  /// The gradient that begin_next() counted last, and the step whose exchange is under way.
  std::uint32_t begun(Rank rank) const { return of(rank).begun - 1; }
  int exchange(Rank rank) const { return static_cast<int>(of(rank).exchange); }
  /// One gradient of the exchange is over. Returns true if it was the last one.
  bool finish_one(Rank rank) {
    OfRank& own = of(rank);
    if (--own.left > 0) return false;
    own = {own.submitted, own.exchange + 1, 0, gradients_};
    return true;
  }
  /// Returns true if `step` may end: the exchange whose result it gets is over.
  bool may_end(Rank rank, int step) const {
    return of(rank).exchange + staleness_ >= static_cast<std::uint64_t>(step) + 2;
  }

 private:
  struct OfRank {
    std::uint64_t submitted = 0;  ///< gradients, of all steps
    std::uint64_t exchange = 0;   ///< under way, or next
    std::uint32_t begun = 0;      ///< gradients of it
    std::uint32_t left = 0;       ///< gradients of it that are not over
  };
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const OfRank& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  const std::uint32_t gradients_, staleness_;
  std::vector<OfRank> ranks_;
};

}  // namespace casync
