// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/arrivals.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

const Clock::time_point kNow = Clock::now();

Arrivals arrivals_of(int ranks) { return {own_identity(0, ranks), 7, kNow, kNow + std::chrono::seconds(60)}; }

Identity process(Rank rank, int ranks, int pid) {
  Identity who = own_identity(rank, ranks);
  who.pid = pid;
  return who;
}

}  // namespace

TEST_CASE("arrivals: the roster has all ranks in order, in whichever order they come") {
  Arrivals arrivals = arrivals_of(3);
  CHECK(arrivals.take_in(process(2, 3, 20)));
  CHECK_FALSE(arrivals.has_all());
  CHECK(arrivals.take_in(process(2, 3, 20)));  // once more, by another way
  CHECK_FALSE(arrivals.has_all());
  CHECK(arrivals.take_in(process(1, 3, 10)));
  REQUIRE(arrivals.has_all());
  CHECK_FALSE(arrivals.is_complete());
  arrivals.complete();
  REQUIRE(arrivals.roster().size() == 3);
  CHECK(arrivals.of(1).pid == 10);
  CHECK(arrivals.of(2).pid == 20);
}

TEST_CASE("arrivals: a second process of a rank is refused, on its way in and at the door") {
  Arrivals arrivals = arrivals_of(3);
  CHECK(arrivals.check(process(1, 3, 10), nullptr));
  CHECK(arrivals.take_in(process(1, 3, 10)));
  const Status refusal = arrivals.take_in(process(1, 3, 11));
  CHECK_THAT(refusal.text(), Catch::StartsWith("InvalidArgument: two processes have rank 1: pid 10 on "));
  CHECK(arrivals.check(process(1, 3, 11), nullptr).text() == refusal.text());
  CHECK_THAT(arrivals.check(process(0, 3, 12), nullptr).text(), Catch::Contains("two processes have rank 0"));
  const Identity seated = process(2, 3, 20);
  CHECK_THAT(arrivals.check(process(2, 3, 21), &seated).text(), Catch::Contains("pid 20"));
}

TEST_CASE("arrivals: newcomers of another build or another job are refused") {
  const Arrivals arrivals = arrivals_of(3);
  Identity other = process(1, 3, 10);
  other.version = "0.0.1";
  CHECK_THAT(arrivals.check(other, nullptr).message(), Catch::StartsWith("the ranks run different builds: "));
  CHECK_THAT(arrivals.check(process(1, 4, 10), nullptr).message(), Catch::Contains("disagree on how many they are"));
  CHECK_THAT(arrivals.check(process(3, 3, 10), nullptr).message(), Catch::Contains("is outside 0 .. 2"));
}

TEST_CASE("arrivals: the least patient newcomer decides how long the job waits, and the missing ranks are named") {
  Arrivals arrivals = arrivals_of(4);
  const Verdict verdict = arrivals.place({process(1, 4, 10), 2000}, kNow);
  CHECK(verdict.kind == Verdict::Kind::kWelcome);
  CHECK(verdict.epoch == 7);
  CHECK(arrivals.deadline() == kNow + std::chrono::seconds(2));
  arrivals.place({process(2, 4, 20), 90000}, kNow);
  CHECK(arrivals.deadline() == kNow + std::chrono::seconds(2));
  CHECK(arrivals.take_in(process(1, 4, 10)));
  CHECK(arrivals.gave_up(kNow + std::chrono::seconds(2), "").text() ==
        "Timeout: ranks 2, 3 of 4 did not come within 2.0 s");
  CHECK(arrivals.gave_up(kNow + std::chrono::seconds(2), "refused: 1").text() ==
        "Timeout: ranks 2, 3 of 4 did not come within 2.0 s; refused: 1");
}

TEST_CASE("arrivals: reminders come once each time the wait has doubled") {
  Arrivals arrivals = arrivals_of(2);
  const Clock::time_point first = arrivals.remind(kNow);
  CHECK(arrivals.remind(first - std::chrono::milliseconds(1)) == first);
  CHECK(arrivals.remind(first) - first == first - kNow);
}
