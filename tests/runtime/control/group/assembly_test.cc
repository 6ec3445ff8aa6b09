// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/assembly.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

const Clock::time_point kNow = Clock::now();

Assembly assembly_of(int ranks) { return {own_identity(0, ranks), 7, kNow, kNow + std::chrono::seconds(60)}; }

Identity process(Rank rank, int ranks, int pid) {
  Identity who = own_identity(rank, ranks);
  who.pid = pid;
  return who;
}

}  // namespace

TEST_CASE("assembly: the roster has all ranks in order, in whichever order they come") {
  Assembly assembly = assembly_of(3);
  CHECK(assembly.take_in(process(2, 3, 20)));
  CHECK_FALSE(assembly.has_all());
  CHECK(assembly.take_in(process(2, 3, 20)));  // once more, by another way
  CHECK_FALSE(assembly.has_all());
  CHECK(assembly.take_in(process(1, 3, 10)));
  REQUIRE(assembly.has_all());
  CHECK_FALSE(assembly.is_complete());
  assembly.complete();
  REQUIRE(assembly.roster().size() == 3);
  CHECK(assembly.of(1).pid == 10);
  CHECK(assembly.of(2).pid == 20);
}

TEST_CASE("assembly: a second process of a rank is refused, on its way in and at the door") {
  Assembly assembly = assembly_of(3);
  CHECK(assembly.check(process(1, 3, 10), nullptr));
  CHECK(assembly.take_in(process(1, 3, 10)));
  const Status refusal = assembly.take_in(process(1, 3, 11));
  CHECK_THAT(refusal.text(), Catch::StartsWith("InvalidArgument: two processes have rank 1: pid 10 on "));
  CHECK(assembly.check(process(1, 3, 11), nullptr).text() == refusal.text());
  CHECK_THAT(assembly.check(process(0, 3, 12), nullptr).text(), Catch::Contains("two processes have rank 0"));
  const Identity seated = process(2, 3, 20);
  CHECK_THAT(assembly.check(process(2, 3, 21), &seated).text(), Catch::Contains("pid 20"));
}

TEST_CASE("assembly: processes with one number on hosts of one name are two if their machines or their starts differ") {
  for (const bool on_another_machine : {true, false}) {
    CAPTURE(on_another_machine);
    Assembly assembly = assembly_of(3);
    Identity who = process(1, 3, 10);
    CHECK(assembly.take_in(who));
    if (on_another_machine) {
      who.machine += " of another container";
    } else {
      ++who.started;
    }
    CHECK_THAT(assembly.take_in(who).text(), Catch::StartsWith("InvalidArgument: two processes have rank 1: pid 10 "));
  }
}

TEST_CASE("assembly: newcomers of another build or another job are refused") {
  const Assembly assembly = assembly_of(3);
  Identity other = process(1, 3, 10);
  other.version = "0.0.1";
  CHECK_THAT(assembly.check(other, nullptr).message(), Catch::StartsWith("the ranks run different builds: "));
  CHECK_THAT(assembly.check(process(1, 4, 10), nullptr).message(), Catch::Contains("disagree on how many they are"));
  CHECK_THAT(assembly.check(process(3, 3, 10), nullptr).message(), Catch::Contains("is outside 0 .. 2"));
}

TEST_CASE("assembly: the least patient newcomer decides how long the job waits, and the missing ranks are named") {
  Assembly assembly = assembly_of(4);
  const Verdict verdict = assembly.place({process(1, 4, 10), 2000}, kNow);
  CHECK(verdict.kind == Verdict::Kind::kWelcome);
  CHECK(verdict.epoch == 7);
  CHECK(assembly.deadline() == kNow + std::chrono::seconds(2));
  assembly.place({process(2, 4, 20), 90000}, kNow);
  CHECK(assembly.deadline() == kNow + std::chrono::seconds(2));
  CHECK(assembly.take_in(process(1, 4, 10)));
  CHECK(assembly.gave_up(kNow + std::chrono::seconds(2), "").text() ==
        "Timeout: ranks 2, 3 of 4 did not come within 2.0 s");
  CHECK(assembly.gave_up(kNow + std::chrono::seconds(2), "refused: 1").text() ==
        "Timeout: ranks 2, 3 of 4 did not come within 2.0 s; refused: 1");
}

TEST_CASE("assembly: reminders come once each time the wait has doubled") {
  Assembly assembly = assembly_of(2);
  const Clock::time_point first = assembly.remind(kNow);
  CHECK(assembly.remind(first - std::chrono::milliseconds(1)) == first);
  CHECK(assembly.remind(first) - first == first - kNow);
}
