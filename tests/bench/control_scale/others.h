// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "tests/bench/control_scale/job.h"

namespace casync::runtime::bench {

/// The process of all ranks but 0 tells this to the process of rank 0. Plain bytes.
struct Others {
  Clock::time_point joined, asked = Clock::time_point::max(), agreed;  ///< the last, the first, the last
  int failures = 0;
  std::array<char, 400> failure{};  ///< the first

  void add(const Moments& one, const Status& status);
};

/// Runs ranks 1 to the last, each on a thread, and waits for all.
Others run_others(const Job& job);

}  // namespace casync::runtime::bench
