// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/thread.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/timeline.h"

namespace casync::runtime {

/// The executor's work in numbers, and in a timeline if there is one. The progress thread's, unless a comment says
/// otherwise.
class WorkRecord {
 public:
  /// `timeline`: borrowed; null: there is none.
  explicit WorkRecord(Timeline* timeline) : timeline_(timeline) {}

  /// Any thread reads them.
  const ExecutorCounters& counters() const { return counters_; }
  /// The streams count theirs in it.
  std::atomic<std::uint64_t>& allocations() { return counters_.allocations; }

  void count_task() { counters_.tasks.fetch_add(1, std::memory_order_relaxed); }
  /// Records work that goes on until now, which it returns. `lane`: as Span.
  Clock::time_point record(SpanKind kind, GradientRun& run, MessageId id, Rank peer, Bytes bytes, std::uint32_t lane,
                           Clock::time_point from);
  /// Runs `codec`, and counts its processor time. Reading it twice costs half a microsecond, so only timelines have it.
  /// Any thread.
  template <class Codec>
  auto measure(Codec codec) {
    if (timeline_ == nullptr) return codec();
    const double before = seconds_of_this_thread();
    auto outcome = codec();
    counters_.codec_processor_s.fetch_add(seconds_of_this_thread() - before, std::memory_order_relaxed);
    return outcome;
  }
  /// The progress thread has slept since `from`.
  void slept(Clock::time_point from);

  /// Counts the progress thread's allocations from now on.
  void begin_counting_allocations();
  void count_allocations();

 private:
  Timeline* const timeline_;
  ExecutorCounters counters_;
  std::uint64_t allocations_seen_ = 0;
};

}  // namespace casync::runtime
