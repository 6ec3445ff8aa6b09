// SPDX-License-Identifier: Apache-2.0
//
// Waits for results that come late, without the thread that reduces.
#include "runtime/session/late_waits.h"

#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "runtime/session/handles.h"
#include "tests/runtime/session/hanging_device.h"
#include "tests/runtime/session/late_cases.h"
#include "tests/runtime/session/lone_session.h"

using namespace casync;              // NOLINT(google-build-using-namespace)
using namespace casync::runtime;     // NOLINT(google-build-using-namespace)
using namespace casync::test;        // NOLINT(google-build-using-namespace)
using namespace casync::test::late;  // NOLINT(google-build-using-namespace)

namespace {

/// Notes for which reductions it is asked; each is done if the test says so.
class Asked final : public LoneSession {
 public:
  Status wait(Handle handle, double, Waiter) override {
    waits.push_back(handle);
    if (in_wait) in_wait();
    return answer;
  }
  bool done(Handle) const override { return is_done; }
  Status wait_any(std::span<const Handle> handles, Clock::time_point until, const std::atomic<bool>&,
                  std::vector<Handle>* done) override {
    done->clear();
    asked_until = until;
    for (const Handle handle : handles) waits.push_back(handle);
    if (is_done) done->assign(handles.begin(), handles.end());
    return answer;
  }
  Status note_exposed(Handle handle, double seconds) override {
    exposed.emplace_back(handle, seconds);
    return Status::ok();
  }

  std::vector<Handle> waits;
  Clock::time_point asked_until;
  std::vector<std::pair<Handle, double>> exposed;
  std::function<void()> in_wait;  ///< while somebody is in wait()
  bool is_done = false;
  Status answer;
};

constexpr Handle kReduction{77};

/// Gradient "a" of a staleness of 1: step 0 has ended, and `values` wait in step 1 for its result, 5.
struct Waiting {
  Waiting() {
    LateGradient& a = gradients.add(0, "a");
    Values first = {1, 1};
    exchange(a, first, 0);
    reduce(a, 0, {5, 5});
    steps.end();
    static_cast<void>(a.take({GradientId(0), view_of(values)}, 1));
  }
  void begin() {
    steps.begin();
    gradients.table.at(GradientId(0)).begin_reducing(0, kReduction);
  }
  void end() {
    begin();
    steps.reduce({});
  }
  /// "done" or "waits", and the status if that is not OK.
  std::string wait_any(bool interrupted = false) {
    const std::atomic<bool> is_interrupted{interrupted};
    std::vector<Handle> done;
    const Status status = waits.wait_any({&handle, 1}, until, is_interrupted, &done);
    return (done.empty() ? "waits" : "done") + (status ? "" : ", " + status.text());
  }

  Asked session;
  SessionLock lock;
  LateSteps steps{1};
  Gradients gradients{1};
  LateFailure failure{session};
  LateWaits waits{session, lock, steps, gradients.table, failure, Seconds(60)};
  Values values = {2, 2};
  Clock::time_point until = Clock::time_point::max();
  const Handle handle = handle_of(1, GradientId(0));
};

}  // namespace

TEST_CASE("late waits: a device that hangs while it copies results ends the job at the session's limit") {
  Asked session;
  SessionLock lock;
  LateSteps steps{1};
  static HangingDevice device;  // its memory is kept: the device may still write there
  LateGradients& table = *new LateGradients(device, 1);
  REQUIRE(table.open().is_ok());
  LateGradient& a = **table.add(GradientId(0), {"a", DType::kFloat32, {2}, 0});
  LateFailure failure(session);
  LateWaits waits(session, lock, steps, table, failure, Seconds(0.2));
  REQUIRE(a.take({GradientId(0), {}}, 0).is_ok());
  REQUIRE(a.hand_over().is_ok());
  steps.end();
  REQUIRE(a.take({GradientId(0), {}}, 1).is_ok());
  SECTION("in the end of a step") {
    std::unique_lock held(lock.mutex);
    CHECK(waits.hand_over_all(held).text() ==
          "Timeout: the device has not copied late results to the gradients' memory within 0.2 s");
    CHECK(held.owns_lock());
    CHECK(failure.is_told());
  }
  SECTION("in a wait for one") {
    steps.begin();
    steps.reduce({});
    CHECK(waits.wait(handle_of(1, GradientId(0)), -1, Waiter::kProgram).text() ==
          "Timeout: gradient a, step 1: its result is on its way to its memory");
    CHECK(failure.is_told());
  }
  for (const bool for_any : {false, true}) {
    DYNAMIC_SECTION((for_any ? "in waits for any" : "in a wait in slices")) {
      steps.begin();
      steps.reduce({});
      const Handle of_a = handle_of(1, GradientId(0));
      const std::atomic<bool> never{false};
      std::vector<Handle> done;
      Status said;
      const Clock::time_point latest = after(Seconds(10));
      while (!failure.is_told() && Clock::now() < latest) {
        said = for_any ? waits.wait_any({&of_a, 1}, Clock::time_point::max(), never, &done)
                       : waits.wait(of_a, 0.01, Waiter::kProgram);
      }
      CHECK(failure.is_told());
      CHECK(said.text() == "Timeout: gradient a, step 1: its result is on its way to its memory");
      CHECK(done.empty());
    }
  }
}

TEST_CASE("late waits: a wait ends in time, and names the step that is not reduced") {
  Waiting it;
  CHECK(it.waits.wait(it.handle, 0.01, Waiter::kProgram).text() ==
        "Timeout: gradient a, step 1: the step whose result it gets is not reduced yet, step 0 comes first");
  CHECK_FALSE(it.waits.done(it.handle));
  CHECK_FALSE(it.failure.is_told());
  CHECK(it.values == Values{2, 2});
  CHECK(it.waits.wait(handle_of(9, GradientId(0)), -1, Waiter::kProgram).text() ==
        "InvalidArgument: no submission gave the handle 38654705664");
}

TEST_CASE("late waits: a reduction that has begun is waited for in the session, and its result is handed over") {
  Waiting it;
  it.begin();
  it.session.answer = timeout_error("not yet");
  CHECK(it.waits.wait(it.handle, 1, Waiter::kProgram).text() == "Timeout: not yet");
  CHECK_FALSE(it.failure.is_told());
  CHECK(it.values == Values{2, 2});
  it.session.answer = Status::ok();
  CHECK(it.waits.wait(it.handle, -1, Waiter::kProgram).is_ok());
  CHECK(it.session.waits == std::vector<Handle>{kReduction, kReduction});
  CHECK(it.values == Values{5, 5});
  CHECK(it.waits.done(it.handle));
}

TEST_CASE("late waits: a state that is loaded forgets a handle, also on a thread that waits for it") {
  for (const bool refused : {false, true}) {
    CAPTURE(refused);
    Waiting it;
    it.begin();
    it.session.in_wait = [&] {
      REQUIRE(it.gradients.table.forget());
      REQUIRE(it.gradients.table.at(GradientId(0)).take({GradientId(0), view_of(it.values)}, 0));
    };
    if (refused) it.session.answer = invalid_argument("no submission gave the handle 77");
    CHECK(it.waits.wait(it.handle, -1, Waiter::kProgram).text() ==
          "InvalidArgument: no submission gave the handle " + std::to_string(static_cast<std::uint64_t>(it.handle)));
    CHECK(it.session.waits == std::vector<Handle>{kReduction});
    CHECK_FALSE(it.failure.is_told());
    CHECK(it.values == Values{2, 2});
  }
}

TEST_CASE("late waits: the session's failure is told to the program") {
  Waiting it;
  it.begin();
  it.session.answer = unavailable("the link is down");
  CHECK(it.waits.wait(it.handle, -1, Waiter::kProgram).text() == "Unavailable: the link is down");
  CHECK(it.failure.is_told());
}

TEST_CASE("late waits: the failure of the reductions ends waits for what will not come") {
  Waiting it;
  it.failure.note(unavailable("the link is down"));
  CHECK(it.waits.wait(it.handle, -1, Waiter::kProgram).text() == "Unavailable: the link is down");
  CHECK(it.wait_any() == "waits, Unavailable: the link is down");
  CHECK(it.failure.is_told());
  it.end();  // what is reduced is there all the same
  CHECK(it.waits.wait(it.handle, -1, Waiter::kProgram).is_ok());
  CHECK(it.values == Values{5, 5});
}

TEST_CASE("late waits: a question for a reduced result hands it over") {
  Waiting it;
  it.end();
  CHECK(it.waits.done(it.handle));
  CHECK(it.values == Values{5, 5});
  CHECK(it.session.waits.empty());
  Waiting other;
  other.begin();
  CHECK_FALSE(other.waits.done(other.handle));
  other.session.is_done = true;
  CHECK(other.waits.done(other.handle));
  CHECK(other.values == Values{5, 5});
}

TEST_CASE("late waits: a wait for any ends with a result, at its moment, or when it is interrupted") {
  Waiting it;
  CHECK(it.wait_any(true) == "waits");
  it.until = Clock::now();
  CHECK(it.wait_any() == "waits");
  CHECK(it.session.waits.empty());  // no reduction has begun
  it.begin();
  CHECK(it.wait_any() == "waits");
  CHECK(it.session.waits == std::vector<Handle>{kReduction});
  CHECK(it.session.asked_until == it.until);
  it.session.is_done = true;
  CHECK(it.wait_any() == "done");
  CHECK(it.values == Values{5, 5});
  Waiting other;
  other.end();
  CHECK(other.wait_any() == "done");
  CHECK(other.session.waits.empty());
}

TEST_CASE("late waits: time that the program stood still is of the reduction, if that has begun") {
  Waiting it;
  CHECK(it.waits.note_exposed(it.handle, 0.5).is_ok());
  CHECK(it.session.exposed.empty());
  it.begin();
  CHECK(it.waits.note_exposed(it.handle, 0.5).is_ok());
  CHECK(it.session.exposed == std::vector<std::pair<Handle, double>>{{kReduction, 0.5}});
}

TEST_CASE("late waits: all results are handed over together") {
  Waiting it;
  it.end();
  std::unique_lock lock(it.lock.mutex);
  CHECK(it.waits.hand_over_all(lock).is_ok());
  CHECK(it.values == Values{5, 5});
  it.waits.wait_for_copies(lock);  // of which the host has none
  CHECK(lock.owns_lock());
}
