// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/executor/executor.h"

namespace casync::runtime {

/// Messages without a payload, told by their hop. Larger hops are no gradient's.
inline constexpr std::uint32_t kNoticeHop =
    ~0u;  ///< a rank waits for a comparison: its number is the gradient, completed steps the step
inline constexpr std::uint32_t kWantHop = ~0u - 1;   ///< bytes (gradient) are ready for a rank (partition)
inline constexpr std::uint32_t kGrantHop = ~0u - 2;  ///< they may be sent
inline constexpr std::uint32_t kEndHop = ~0u - 3;    ///< they have left
inline constexpr std::uint32_t kEndedHop = ~0u - 4;  ///< a rank has ended its steps, and answers the others
/// An answer to a step waits for a rank: the lower half of elements, which has contributed to as many steps as the
/// upper half says.
inline constexpr std::uint32_t kWaitsHop = ~0u - 5;
inline constexpr std::uint32_t kGoesOnHop = ~0u - 6;  ///< to a rank that has ended: this one has begun a step
/// Set in the hop of a message's name: that message has arrived, or waits for its place.
inline constexpr std::uint32_t kArrivedBit = 1u << 31;
inline constexpr std::uint32_t kLeastNoticeHop = kArrivedBit;
inline constexpr std::uint64_t kNoticeCookie = ~std::uint64_t{0};

/// Several pieces of work wait at each stream, so that it never waits for the progress thread to hand it the next.
inline constexpr std::size_t kSlotsPerStream = 3;

/// A bundle from a rank that made it of other gradients than this one, or in a step in which its members began one by
/// one here: they take their parts as they begin.
struct Executor::WaitingBundle {
  Rank from = 0;
  Message message;
  std::vector<std::byte> bytes;
  View view;  ///< those, or memory of the arena
  bool in_arena = false;
  std::vector<BundleEntry> entries;  ///< once arrived
  std::vector<bool> done;            ///< by entry
  std::size_t left = 0;
  bool arrived = false;
};

/// A task on its way through a stream.
struct Executor::StreamSlot {
  Executor* executor = nullptr;
  WorkQueue* stream = nullptr;
  std::uint32_t lane = 0;
  Scratch scratch;
  GradientRun* run = nullptr;
  TaskId task{};
  TaskOutcome outcome;
  Clock::time_point from;
};

}  // namespace casync::runtime
