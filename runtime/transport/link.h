// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

/// A network as slow as it says: CASYNC_LINK.
struct Link {
  double bits_per_second = 0;
  Clock::duration latency{};
  std::string text;  ///< as it was given

  /// The time for which `bytes` occupy the link; at most some days.
  Clock::duration time_of(Bytes bytes) const;
};

/// "RATE" or "RATE,LATENCY": a number and bit, kbit, mbit or gbit (per second); a number and us or ms.
/// InvalidArgument: anything else, a rate that is not above zero, a latency below zero or above 10 s.
Result<Link> parse_link(const std::string& text);

}  // namespace casync::runtime
