// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/work_record.h"

#include "base/allocation_count.h"

namespace casync::runtime {
namespace {

/// Adds to a number that only this thread writes.
void add(std::atomic<double>& sum, double more) {
  sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

Clock::time_point WorkRecord::record(SpanKind kind, GradientRun& run, MessageId id, Rank peer, Bytes bytes,
                                     std::uint32_t lane, Clock::time_point from) {
  const Clock::time_point to = Clock::now();
  add(counters_.seconds[static_cast<int>(kind)], Seconds(to - from).count());
  if (timeline_ != nullptr) timeline_->record({kind, &run, id, run.step.number(), peer, bytes, lane, from, to});
  return to;
}

void WorkRecord::slept(Clock::time_point from) { add(counters_.idle_s, Seconds(Clock::now() - from).count()); }

void WorkRecord::begin_counting_allocations() { allocations_seen_ = allocations_of_this_thread(); }

void WorkRecord::count_allocations() {
  const std::uint64_t now = allocations_of_this_thread();
  if (now == allocations_seen_) return;
  counters_.allocations.fetch_add(now - allocations_seen_, std::memory_order_relaxed);
  allocations_seen_ = now;
}

}  // namespace casync::runtime
