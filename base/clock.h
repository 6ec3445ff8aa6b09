// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace casync {

/// The only clock: it never jumps.
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

inline Clock::time_point after(Seconds seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
}

inline double seconds_since(Clock::time_point begin) { return Seconds(Clock::now() - begin).count(); }

}  // namespace casync
