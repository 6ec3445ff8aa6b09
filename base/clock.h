// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace casync {

/// The only clock: it never jumps.
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// The time in so many seconds, which are no NaN; at most about 30 years from now, which is for ever.
inline Clock::time_point after(Seconds seconds) {
  constexpr Seconds kMost{1e9};
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::clamp(seconds, -kMost, kMost));
}

/// Seconds from `begin` until now.
inline double seconds_since(Clock::time_point begin) { return Seconds(Clock::now() - begin).count(); }

}  // namespace casync
