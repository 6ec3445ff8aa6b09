// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/abandon_times.h"

#include <catch2/catch.hpp>

namespace casync::runtime {
namespace {

constexpr std::chrono::milliseconds kMs{1};
constexpr Clock::time_point kNever = Clock::time_point::max();

}  // namespace

TEST_CASE("abandon times: messages end a while after the endpoint was first found ended") {
  AbandonTimes times(3);
  const Clock::time_point start = Clock::now();
  CHECK_FALSE(times.is_over(1, true, start));
  CHECK_FALSE(times.is_over(1, true, start + AbandonTimes::kOutlive - kMs));
  CHECK_FALSE(times.is_over(2, true, start + AbandonTimes::kOutlive));  // a time for each peer
  CHECK(times.is_over(1, true, start + AbandonTimes::kOutlive));
  CHECK(times.is_over(1, true, start + 2 * AbandonTimes::kOutlive));
}

TEST_CASE("abandon times: messages do not end as long as the endpoint has not") {
  AbandonTimes times(2);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 5; ++i) CHECK_FALSE(times.is_over(1, false, start + i * AbandonTimes::kOutlive));
  CHECK_FALSE(times.is_over(1, true, start + 5 * AbandonTimes::kOutlive));
  CHECK(times.is_over(1, true, start + 6 * AbandonTimes::kOutlive));
}

TEST_CASE("abandon times: nobody sleeps past the time at which the first messages end") {
  AbandonTimes times(4);
  const Clock::time_point start = Clock::now();
  CHECK(times.next_look() == kNever);
  times.begin_look();
  CHECK_FALSE(times.is_over(1, true, start));
  CHECK_FALSE(times.is_over(2, true, start + 10 * kMs));
  CHECK(times.next_look() == start + AbandonTimes::kOutlive);
  times.begin_look();
  CHECK_FALSE(times.is_over(1, true, start + 20 * kMs));
  CHECK_FALSE(times.is_over(3, false, start + 20 * kMs));
  CHECK(times.next_look() == start + AbandonTimes::kOutlive);
  times.begin_look();
  CHECK(times.is_over(1, true, start + AbandonTimes::kOutlive));
  CHECK_FALSE(times.is_over(2, true, start + AbandonTimes::kOutlive));
  CHECK(times.next_look() == start + AbandonTimes::kOutlive + 10 * kMs);
  times.begin_look();  // all messages have ended
  CHECK(times.next_look() == kNever);
}

TEST_CASE("abandon times: an endpoint that has not ended is looked at again") {
  AbandonTimes times(2);
  const Clock::time_point start = Clock::now();
  times.begin_look();
  CHECK_FALSE(times.is_over(1, false, start));
  CHECK(times.next_look() == start + AbandonTimes::kOutlive);
}

}  // namespace casync::runtime
