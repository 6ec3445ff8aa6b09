// SPDX-License-Identifier: Apache-2.0
//
// Waits for the results of groups and their members, without a session with groups.
#include "runtime/session/group_waits.h"

#include <catch2/catch.hpp>

#include <span>

#include "base/clock.h"
#include "runtime/session/handles.h"
#include "tests/runtime/session/group_parts.h"
#include "tests/runtime/session/hanging_device.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::runtime;       // NOLINT(google-build-using-namespace)
using namespace casync::test::groups;  // NOLINT(google-build-using-namespace)

namespace {

/// "a" of the group is submitted in step 0, and "b" is not yet.
struct Waiting : Table {
  Waiting() : Waiting(*own_device()) {}
  explicit Waiting(Device& device) : Table(device) {
    for (const char* name : {"a", "alone", "b"}) add(name);
    submit(0, a);
  }
  /// The group leaves, and gets this result.
  void reduce(const Values& result) {
    const View whole = submit(2, b).value().data;
    std::copy(result.begin(), result.end(), reinterpret_cast<float*>(whole.data));
  }
  /// The same, and then a wait for any: it waits for the group's handle until the wrapped session has the result.
  void reduce_and_wait_any() {
    reduce({5, 6, 7, 8});
    CHECK(wait_any() == "waits");
    CHECK(session.asked == std::vector<Handle>{of_group});
    session.is_done = true;
    CHECK(wait_any() == "done");
    CHECK(a == Values{5, 6});
  }
  Status wait(double timeout_s) { return waits.wait(of_a, timeout_s, Waiter::kProgram); }
  /// "done" or "waits", and the status if that is not OK.
  std::string wait_any(bool interrupted = false) { return wait_any_of({&of_a, 1}, interrupted); }
  std::string wait_any_of(std::span<const Handle> handles, bool interrupted = false) {
    const std::atomic<bool> is_interrupted{interrupted};
    std::vector<Handle> done;
    const Status status = waits.wait_any(handles, until, is_interrupted, &done);
    return (done.empty() ? "waits" : "done") + (status ? "" : ", " + status.text());
  }

  SessionLock lock;
  GroupedStep step{SyncMode{}};
  GroupWaits waits{session, lock, step, table, nullptr, 0.3};
  Clock::time_point until = Clock::time_point::max();
  Values a = {1, 1}, b = {2, 2};
  const Handle of_a = handle_of(0, GradientId(0));
  const Handle of_alone = handle_of(0, GradientId(1));
  const Handle of_b = handle_of(0, GradientId(2));
  const Handle of_group = handle_of(0, GradientId(1));  ///< the wrapped session's
};

/// A device that has failed.
struct LostDevice final : casync::test::HangingDevice {
  struct Lost final : runtime::Event {
    Result<bool> done() const override { return unavailable("the device is lost"); }
  };
  Result<std::unique_ptr<runtime::Event>> make_event() override { return std::unique_ptr<runtime::Event>(new Lost); }
};

const std::string kLate = "gradient a, step 0: group g has not left without `b`";

}  // namespace

TEST_CASE("group waits: a wait for a group that lacks a member says so in time, and the session's own ends the job") {
  Waiting it;
  CHECK(it.wait(0.01).text() == "Timeout: " + kLate);
  CHECK(it.session.aborted_with.empty());
  CHECK(it.wait(-1).text() == "Timeout: " + kLate);
  CHECK(it.session.aborted_with == kLate);
  CHECK(it.session.asked.empty());
  CHECK(it.waits.wait(it.of_b, -1, Waiter::kProgram).text() == "InvalidArgument: no submission gave the handle 2");
}

TEST_CASE("group waits: a wait for a member that does not come ends at once") {
  Waiting it;
  it.step.end_submissions(Status::ok());
  CHECK_THAT(it.wait(-1).text(), Catch::Contains("InvalidArgument: step 0: group `g` has not been submitted without "
                                                 "`b`: submit it, zeros if it is not used"));
  Waiting failed;
  failed.session.failed = unavailable("the link is down");
  CHECK(failed.wait(-1).text() == "Unavailable: the link is down");
  Waiting closed;
  closed.waits.close();
  CHECK(closed.wait(-1).text() == "Aborted: the session was closed");
  CHECK(closed.wait_any() == "waits, Aborted: the session was closed");
}

TEST_CASE("group waits: after a close what has left is waited for, as its memory is in use") {
  Waiting it;
  const Handle both[] = {it.of_a, it.of_alone};
  it.waits.close();
  CHECK(it.wait_any_of(both) == "waits");
  CHECK(it.session.asked == std::vector<Handle>{handle_of(0, GradientId(0))});  // the wrapped session's of "alone"
  it.session.asked.clear();
  it.reduce_and_wait_any();
}

TEST_CASE("group waits: once the group has left its result is waited for, and the member gets its part") {
  Waiting it;
  it.reduce({5, 6, 7, 8});
  CHECK(it.wait(-1).is_ok());
  CHECK(it.session.asked == std::vector<Handle>{it.of_group});
  CHECK(it.a == Values{5, 6});
  CHECK(it.b == Values{2, 2});
  CHECK(it.waits.done(it.of_a));
  CHECK_FALSE(it.waits.done(it.of_b));
}

TEST_CASE("group waits: a state that is loaded forgets a handle, also on a thread that waits for it") {
  Waiting it;
  const auto submit = [&](std::uint32_t step) {
    it.Table::submit(0, it.a, step);
    it.Table::submit(2, it.b, step);
  };
  it.table.forget();
  submit(5);
  it.session.in_wait = [&] {
    it.table.forget();
    submit(3);  // after the load
    it.a = {9, 9};
  };
  const Handle of_a = handle_of(5, GradientId(0));
  CHECK(it.waits.wait(of_a, -1, Waiter::kProgram).text() ==
        "InvalidArgument: no submission gave the handle " + std::to_string(static_cast<std::uint64_t>(of_a)));
  CHECK(it.session.asked == std::vector<Handle>{handle_of(5, GradientId(1))});  // the group's
  CHECK(it.a == Values{9, 9});
}

TEST_CASE("group waits: a question for a result that is there hands it over") {
  Waiting it;
  it.session.is_done = true;
  CHECK_FALSE(it.waits.done(it.of_a));  // the group has not left
  it.reduce({5, 6, 7, 8});
  CHECK(it.waits.done(it.of_a));
  CHECK(it.a == Values{5, 6});
  std::unique_lock lock(it.lock.mutex);
  CHECK(it.waits.hand_over_all(lock).is_ok());
  CHECK(it.b == Values{7, 8});
}

TEST_CASE("group waits: a device that hangs while it copies a result ends the job at the session's limit") {
  static casync::test::HangingDevice device;
  Waiting& it = *new Waiting(device);  // the device may still write there
  it.submit(2, it.b);
  const std::string late = "gradient a, step 0: its result is on its way to its memory";
  CHECK(it.wait(0.01).text() == "Timeout: " + late);
  CHECK(it.session.aborted_with.empty());
  SECTION("in a wait for one") {
    CHECK(it.wait(-1).text() == "Timeout: " + late);
    CHECK(it.session.aborted_with == late);
  }
  for (const bool for_any : {false, true}) {
    DYNAMIC_SECTION((for_any ? "in waits for any" : "in a wait in slices")) {
      it.session.is_done = true;
      const Clock::time_point latest = after(Seconds(10));
      std::string said;
      while (it.session.aborted_with.empty() && Clock::now() < latest) {
        said = for_any ? it.wait_any() : it.wait(0.01).text();
      }
      CHECK(said == (for_any ? "waits, " : "") + std::string("Timeout: ") + late);
      CHECK(it.session.aborted_with == late);
    }
  }
  SECTION("in the end of a step") {
    std::unique_lock held(it.lock.mutex);
    const std::string all = "the device has not copied results of group g to its members' memory within 0.3 s";
    CHECK(it.waits.hand_over_all(held).text() == "Timeout: " + all);
    CHECK(it.session.aborted_with == all);
    CHECK(held.owns_lock());
  }
}

TEST_CASE("group waits: a wait for any does not say that none is done while a device copies the result of one") {
  casync::test::SlowDevice device;
  Waiting it(device);
  it.submit(2, it.b);
  it.session.is_done = true;
  device.looks = 3;
  CHECK(it.wait_any(true) == "done");
  CHECK(device.looks == 0);
  device.looks = 3;
  it.until = Clock::now();
  CHECK(it.wait_any_of({&it.of_b, 1}) == "waits");
}

TEST_CASE("group waits: copies that a device has begun are waited for, and others are not begun") {
  casync::test::SlowDevice device;
  Waiting it(device);
  it.submit(2, it.b);
  it.session.is_done = true;
  device.looks = 1;
  CHECK_FALSE(it.waits.done(it.of_a));
  device.looks = 3;
  std::unique_lock held(it.lock.mutex);
  CHECK(it.waits.wait_for_copies(held).is_ok());
  CHECK(held.owns_lock());
  CHECK(device.looks == 0);
  const GroupedGradient& b = it.table.at(GradientId(2));
  CHECK_FALSE(b.group->is_handed_over(b.place, 0));
}

TEST_CASE("group waits: a wait in slices has the session's limit, and so have waits for any, from the first one on") {
  for (const bool for_any : {false, true}) {
    CAPTURE(for_any);
    Waiting it;
    const Clock::time_point latest = after(Seconds(10));
    std::string said;
    while (it.session.aborted_with.empty() && Clock::now() < latest) {
      said = for_any ? it.wait_any() : it.wait(0.01).text();
    }
    CHECK(said == (for_any ? "waits, " : "") + std::string("Timeout: ") + kLate);
    CHECK(it.session.aborted_with == kLate);
  }
}

TEST_CASE("group waits: a group that does not leave has the session's limit also while another gradient is under way") {
  Waiting it;
  const Handle both[] = {it.of_a, it.of_alone};
  CHECK(it.wait_any_of(both) == "waits");
  CHECK(it.session.asked_until <= after(Seconds(0.3)));
  CHECK(it.session.asked_until ==
        it.table.at(GradientId(0)).group->delay().said_next(Seconds(0.3 / 10)));  // it is logged
  const Clock::time_point latest = after(Seconds(10));
  std::string said;
  while (it.session.aborted_with.empty() && Clock::now() < latest) said = it.wait_any_of(both);
  CHECK(said == "waits, Timeout: " + kLate);
}

TEST_CASE("group waits: a wait for any ends at the moment that its caller names") {
  Waiting it;
  const Handle both[] = {it.of_a, it.of_alone};
  it.until = Clock::now();
  CHECK(it.wait_any_of(both) == "waits");
  CHECK(it.session.asked_until == it.until);
}

TEST_CASE("group waits: a wait for any says that a group does not leave once nothing else is waited for") {
  Waiting it;
  it.step.end_submissions(Status::ok());
  const Handle both[] = {it.of_a, it.of_alone};
  CHECK(it.wait_any_of(both) == "waits");
  CHECK(it.session.asked == std::vector<Handle>{handle_of(0, GradientId(0))});  // the wrapped session's of "alone"
  CHECK_THAT(it.wait_any(), Catch::Contains("waits, InvalidArgument: step 0: group `g` has not been submitted without "
                                            "`b`: submit it, zeros if it is not used"));
  CHECK(it.session.aborted_with.empty());
}

TEST_CASE("group waits: a wait for any that sleeps looks again when a group has left that it waits for, too") {
  Waiting it;
  const Handle both[] = {it.of_a, it.of_alone};
  bool slept = false;
  const auto wake = [&] {
    std::lock_guard lock(it.lock.mutex);
    return it.waits.wake();
  };
  it.session.meanwhile = [&](const std::atomic<bool>& interrupted) {
    slept = true;
    CHECK_FALSE(interrupted.load());
    it.reduce({5, 6, 7, 8});
    CHECK(wake());
    CHECK(interrupted.load());
  };
  CHECK_FALSE(wake());
  CHECK(it.wait_any_of(both) == "waits");
  CHECK(slept);
  CHECK_FALSE(wake());
  it.session.meanwhile = [&](const std::atomic<bool>&) { CHECK_FALSE(wake()); };  // all have left
  CHECK(it.wait_any_of(both) == "waits");
  it.session.is_done = true;
  CHECK(it.wait_any() == "done");
}

TEST_CASE("group waits: a wait for any that is interrupted tells of all that is done, also next to a group to come") {
  Waiting it;
  const Handle both[] = {it.of_a, it.of_alone};
  it.session.meanwhile = [](const std::atomic<bool>& interrupted) { CHECK(interrupted.load()); };
  CHECK(it.wait_any_of(both, true) == "waits");
  CHECK(it.session.asked == std::vector<Handle>{handle_of(0, GradientId(0))});  // the wrapped session's of "alone"
  it.session.is_done = true;
  CHECK(it.wait_any_of(both, true) == "done");
}

TEST_CASE("group waits: a submission that a wait for any gives up is void, and its memory the program's") {
  Waiting it;
  it.step.end_submissions(Status::ok());
  SECTION("while a call submits more of the group it is not given up") {
    REQUIRE(it.check({2}) == "OK");
    REQUIRE(it.take(2, it.b));
    CHECK(it.wait_any() == "waits");
    it.table.submitted(GradientId(2), 0);
    it.session.is_done = true;
    CHECK(it.wait_any() == "done");
  }
  SECTION("it is submitted again, with the others") {
    CHECK_THAT(it.wait_any(), Catch::Contains("has not been submitted without `b`"));
    CHECK(it.wait(-1).text() == "InvalidArgument: no submission gave the handle 0");
    CHECK(it.table.check_whole(0, "").is_ok());
    CHECK_FALSE(it.submit(2, it.b));
    Values again = {3, 3};
    const std::optional<Submission> whole = it.submit(0, again);
    REQUIRE(whole);
    CHECK(casync::test::values_of(*whole) == Values{3, 3, 2, 2});
    it.session.is_done = true;
    CHECK(it.waits.done(it.of_a));
    CHECK(it.a == Values{1, 1});
  }
}

TEST_CASE("group waits: after a submission was given up, waits for its group have the whole limit again") {
  Waiting it;
  CHECK(it.wait(0.01).text() == "Timeout: " + kLate);
  GroupDelay& delay = it.table.at(GradientId(0)).group->delay();
  const Clock::time_point since = delay.waited_since(0, Clock::now());
  it.step.end_submissions(Status::ok());
  CHECK_THAT(it.wait_any(), Catch::Contains("has not been submitted without `b`"));
  it.step.submits();
  it.submit(0, it.a);
  CHECK(it.wait(0.01).text() == "Timeout: " + kLate);
  CHECK(delay.waited_since(0, Clock::now()) > since);
}

TEST_CASE("group waits: a device that has failed when a submission is given up ends the job") {
  LostDevice device;
  Waiting it(device);
  it.step.end_submissions(Status::ok());
  CHECK(it.wait_any() == "waits, Unavailable: the device is lost");
  CHECK(it.session.aborted_with == "the device is lost");
}

TEST_CASE("group waits: a group that could not be sent at the end of the submissions says why") {
  Table all;
  all.add("a");
  Values a = {1, 1};
  all.submit(0, a);
  SessionLock lock;
  GroupedStep step{SyncMode{}};
  GroupWaits waits(all.session, lock, step, all.table, nullptr, 30);
  const Handle of_a = handle_of(0, GradientId(0));
  const std::atomic<bool> never{false};
  std::vector<Handle> done;
  step.end_submissions(plan_error("no such codec"));
  CHECK(waits.wait(of_a, -1, Waiter::kProgram).text() == "PlanError: no such codec");
  step.end_submissions(Status::ok());  // and the member came later
  CHECK_THAT(waits.wait(of_a, -1, Waiter::kProgram).text(),
             Catch::Contains("InvalidArgument: step 0: group `g` has not been submitted without `b`, which was never "
                             "declared"));
  step.end_submissions(plan_error("no such codec"));
  CHECK(waits.wait_any({&of_a, 1}, Clock::time_point::max(), never, &done).text() == "PlanError: no such codec");
}

TEST_CASE("group waits: a wait for any is for groups that have left") {
  Waiting it;
  CHECK(it.wait_any(true) == "waits");
  CHECK(it.session.asked.empty());
  it.reduce_and_wait_any();
}

TEST_CASE("group waits: time that the program stood still is of the group, once that has left") {
  Waiting it;
  CHECK(it.waits.note_exposed(it.of_a, 0.5).is_ok());
  CHECK(it.session.asked.empty());
  it.reduce({5, 6, 7, 8});
  CHECK(it.waits.note_exposed(it.of_a, 0.5).is_ok());
  CHECK(it.session.asked == std::vector<Handle>{it.of_group});
}
