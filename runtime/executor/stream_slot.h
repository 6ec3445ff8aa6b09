// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/executor/executor.h"

namespace casync::runtime {

/// Most messages that leave as one.
inline constexpr std::size_t kMostFused = 64;

/// Several pieces of work wait at each stream, so that it never waits for the progress thread to hand it the next.
inline constexpr std::size_t kSlotsPerStream = 3;

/// A task on its way through a stream.
struct Executor::StreamSlot {
  Executor* executor = nullptr;
  Stream* stream = nullptr;
  std::uint32_t lane = 0;
  Scratch scratch;
  GradientRun* run = nullptr;
  TaskId task{};
  TaskOutcome outcome;
  Clock::time_point from;
};

}  // namespace casync::runtime
