// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace casync::runtime {

/// Coordinated bulk communication (HiPress, SOSP'21): ranks say what they have for whom, and are told when to send it.
/// At a time each rank sends to one other and receives from one other, so that bulks do not meet at a receiver, and
/// what is ready in the meantime joins them. A small bulk waits up to kPatience to become a larger one.
///
/// One thread; time is the caller's.
class LinkCoordinator {
 public:
  struct Grant {
    Rank from = 0, to = 0;
    bool operator==(const Grant&) const = default;
  };
  static constexpr Bytes kBulk = 64_KiB;
  static constexpr std::chrono::microseconds kPatience{200};

  explicit LinkCoordinator(int ranks);

  /// `from` has `bytes` (more than 0) for `to`. Once until the grant.
  void want(Rank from, Rank to, Bytes bytes, Clock::time_point now);
  /// The granted bytes have left.
  void done(Rank from, Rank to);

  /// Appends to `grants` the links that may send now: the longest waiting first.
  void grant(Clock::time_point now, std::vector<Grant>& grants);
  /// When the next small bulk becomes old enough to be granted; max: none waits for that.
  Clock::time_point next_due() const;

 private:
  struct Want {
    Grant link;
    Bytes bytes = 0;
    Clock::time_point since;
  };
  bool is_due(const Want& want, Clock::time_point now) const {
    return want.bytes >= kBulk || now >= want.since + kPatience;
  }

  std::vector<Want> wants_;             ///< in the order of their coming
  std::vector<char> sends_, receives_;  ///< by rank
};

}  // namespace casync::runtime
