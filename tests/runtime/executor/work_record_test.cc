// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/work_record.h"

#include <catch2/catch.hpp>
#include <thread>

#include "base/allocation_count.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("work record: work goes from its beginning to now, by its kind, and into the timeline") {
  Timeline timeline(4);
  WorkRecord record(&timeline);
  const auto run = test::make_weight("weight", 1, 0);
  const Clock::time_point from = Clock::now() - std::chrono::seconds(2);
  const Clock::time_point to = record.record(SpanKind::kMerge, *run, {0, 0}, -1, 400, 0, from);
  CHECK(Seconds(to - from).count() >= 2);
  const Clock::time_point end = record.record(SpanKind::kMerge, *run, {0, 0}, -1, 400, 0, to - std::chrono::seconds(1));
  CHECK(end >= to);
  record.count_task();
  CHECK(record.counters().seconds_of(SpanKind::kMerge) == Approx(Seconds(end - from).count() + 1));
  CHECK(record.counters().seconds_of(SpanKind::kEncode) == 0);
  CHECK(record.counters().tasks == 1);
  CHECK(timeline.size() == 2);
}

TEST_CASE("work record: codecs' processor time is measured for a timeline alone") {
  Timeline timeline(4);
  for (Timeline* const one : {static_cast<Timeline*>(nullptr), &timeline}) {
    WorkRecord record(one);
    const int outcome = record.measure([] {
      const double from = seconds_of_this_thread();
      while (seconds_of_this_thread() < from + 0.01) {
      }
      return 42;
    });
    CHECK(outcome == 42);
    CHECK((record.counters().codec_processor_s >= 0.01) == (one != nullptr));
  }
}

TEST_CASE("work record: sleep adds up, and allocations count from the beginning of the thread") {
  WorkRecord record(nullptr);
  const Clock::time_point now = Clock::now();
  record.slept(now - std::chrono::seconds(2));
  record.slept(now - std::chrono::seconds(1));
  CHECK(record.counters().idle_s >= 3);
  CHECK(record.counters().idle_s <= 3 + 2 * Seconds(Clock::now() - now).count() + 1e-6);
  record.begin_counting_allocations();
  record.count_allocations();
  CHECK(record.counters().allocations == 0);
  const auto one = std::make_unique<std::vector<int>>(100);
  record.count_allocations();
  constexpr int kCounted = kAllocationsAreCounted ? 2 : 0;
  CHECK(record.counters().allocations == kCounted);
  record.allocations().fetch_add(5);
  CHECK(record.counters().allocations == kCounted + 5);
}
