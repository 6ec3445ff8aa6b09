// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/executor/timeline.h"

namespace casync::runtime {

/// The fixed values of an executor.
struct ExecutorOptions {
  Rank rank = 0;
  int ranks = 1;
  float scale = 1;              ///< of the last merge: 1 / ranks for the average
  Bytes fusion_bytes = 64_KiB;  ///< as TransportOptions::fusion_bytes
  bool coordinated = false;     ///< send by leave of the coordinator, which is on rank 0
  std::uint64_t seed = 0;       ///< of the codecs' random numbers; the same on all ranks
  Seconds stall{30};  ///< time without progress, with gradients under way, until a warning names what is missing
  int streams = 0;    ///< threads other than the progress thread that run large tasks; 0: it runs them itself
  Timeline* timeline = nullptr;  ///< borrowed; null: no timeline
  Seconds device_rest{10};       ///< time for which tasks on a device may go on after a failure
};

/// The steps of a peer that says goodbye when all asynchronous ranks have ended theirs.
inline constexpr std::uint32_t kAllSteps = ~0u;

/// A peer that has said goodbye: it needs nothing more, and gives nothing more than it has sent.
struct Leaver {
  Rank rank = 0;
  std::uint32_t steps = 0;               ///< it has completed all steps below this one; kAllSteps: that there will be,
  std::vector<std::uint64_t> gradients;  ///< and of this one the gradients with these keys
  Status why;                            ///< the failure of a rank that needs more of it
};

/// Callbacks of the executor's owner, on the progress thread. The owner decides what the whole job's failure is, and
/// calls Failures::fail() with it.
struct ExecutorEvents {
  /// A peer's endpoint broke, with what the transport knows; nothing may be under way that needs it.
  std::function<void(Rank, const Status&)> peer_broke;
  /// No step can end here any more, and other ranks may not know: a wrong payload, a peer that left in the middle of a
  /// step, a fault of this program.
  std::function<void(const Status&)> failed;
  /// A peer has loaded a state, and submits nothing until all ranks have compared their steps once more, for the
  /// `comparisons`-th time.
  std::function<void(std::uint64_t comparisons)> peer_compares;
  /// Nothing has moved for a while, and all gradients under way are held until every rank has declared them.
  std::function<void()> stalled = [] {};
};

/// Seconds and counts since the start; read while the executor runs.
struct ExecutorCounters {
  double seconds_of(SpanKind kind) const { return seconds[static_cast<int>(kind)].load(); }

  std::atomic<double> seconds[5] = {};  ///< by SpanKind: encode, decode, merge, send, recv
  std::atomic<double> idle_s{0};
  std::atomic<double> codec_processor_s{0};  ///< processor time of encode, decode, merge; with a timeline, else 0
  std::atomic<std::uint64_t> tasks{0};
  std::atomic<std::uint64_t> allocations{0};  ///< of the progress thread and the streams
};

}  // namespace casync::runtime
