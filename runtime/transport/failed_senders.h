// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

/// The senders whose pieces are dropped, with the reason. Invariant: the first failure of a sender stays.
class FailedSenders {
 public:
  explicit FailedSenders(int ranks) : failed_(static_cast<std::size_t>(ranks)) {}

  /// OK: its pieces are taken.
  const Status& status(Rank from) const { return failed_[static_cast<std::size_t>(from)]; }
  bool has(Rank from) const { return !status(from).is_ok(); }
  /// Returns false if it had failed already.
  bool add(Rank from, const Status& reason) {
    if (has(from)) return false;
    failed_[static_cast<std::size_t>(from)] = reason;
    return true;
  }

 private:
  std::vector<Status> failed_;  // by rank
};

}  // namespace casync::runtime
