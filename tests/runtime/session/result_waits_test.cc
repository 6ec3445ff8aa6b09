// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/result_waits.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/executor/gradient_run.h"
#include "tests/runtime/session/held_session.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// A session that is alone, and the waits for its results.
struct HeldWaits {
  explicit HeldWaits(std::uint64_t epoch, double timeout_s = 60) : session(epoch, 0, timeout_s) {}

  test::HeldSession session;
  SessionRecord record{session.parts, session.tables};
  ResultWaits waits{session.parts, session.tables, session.openings, record, session.job_end};
};

}  // namespace

TEST_CASE("result waits: a step that has all results waits for what is on its way to other ranks") {
  HeldWaits it(8320, 30.5);
  test::HeldSession& session = it.session;
  ResultWaits& waits = it.waits;
  const GradientId id = session.declare("weight");
  session.claim();
  session.openings.agreed({{"gradient weight"}, true});
  const Handle handle = session.submit(id);
  REQUIRE(waits.wait(handle, 60, Waiter::kProgram).text() == "OK");
  CHECK(waits.wait_for_step(after(Seconds(60))).text() == "OK");
  session.parts.executor->requests().hold(1);  // as a bundle that was dissolved while it left
  CHECK(session.tables.is_complete());
  CHECK(waits.wait(handle, 60, Waiter::kProgram).text() == "OK");
  CHECK(waits.wait_for_step(after(Seconds(0.1))).text() ==
        "Timeout: step 0: not done after 30.5 s: 1 gradients are under way");
  CHECK(session.states.take().status().text() == "InvalidArgument: a step is under way: end it, then take the state");
}

TEST_CASE("result waits: a wait for any ends with none at the moment that its caller names, and the session goes on") {
  HeldWaits it(8321);
  test::HeldSession& session = it.session;
  ResultWaits& waits = it.waits;
  const GradientId id = session.declare("weight");
  session.claim();
  const Handle handle = session.submit(id);  // held: the ranks have not agreed on it
  const std::atomic<bool> never{false};
  std::vector<Handle> done;
  CHECK(waits.wait_any({&handle, 1}, Clock::now(), never, &done).text() == "OK");
  CHECK(done.empty());
  session.openings.agreed({{"gradient weight"}, true});
  CHECK(waits.wait(handle, 60, Waiter::kProgram).text() == "OK");
  CHECK(session.group->told().causes.empty());
}

TEST_CASE("result waits: a state that is loaded forgets handles, also on a thread that waits for one") {
  HeldWaits it(8323);
  test::HeldSession& session = it.session;
  const GradientId id = session.declare("weight");
  session.claim();
  session.openings.agreed({{"gradient weight"}, true});
  const Handle handle = session.submit(id);
  REQUIRE(it.waits.wait(handle, 60, Waiter::kProgram).text() == "OK");
  session.tables.gradients.run(static_cast<std::size_t>(id))->go_to(0);  // as the load of an earlier state does
  std::string said;
  std::thread program([&] { said = it.waits.wait(handle, -1, Waiter::kProgram).text(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it waits, most likely
  {
    const std::lock_guard lock(session.tables.mutex);
    it.waits.forget();
  }
  program.join();
  CHECK(said == "InvalidArgument: no submission gave the handle 0");
  CHECK_FALSE(it.waits.done(handle));
  CHECK(session.group->told().causes.empty());
}

TEST_CASE("result waits: a result that is there is told of after the job's failure, too") {
  HeldWaits it(8324);
  test::HeldSession& session = it.session;
  const GradientId weight = session.declare("weight"), bias = session.declare("bias");
  session.claim();
  session.openings.agreed({{"gradient weight"}, true});
  const Handle there = session.submit(weight), held = session.submit(bias);
  REQUIRE(it.waits.wait(there, 60, Waiter::kProgram).text() == "OK");
  session.parts.executor->failures().fail(data_loss("a cause"));
  const Handle both[] = {held, there};
  const std::atomic<bool> never{false};
  std::vector<Handle> done;
  CHECK(it.waits.wait_any(both, Clock::time_point::max(), never, &done).text() == "OK");
  CHECK(done == std::vector<Handle>{there});
  CHECK(it.waits.wait(there, 60, Waiter::kProgram).text() == "OK");
  CHECK(it.waits.done(there));
  done.clear();
  CHECK(it.waits.wait_any({&held, 1}, Clock::time_point::max(), never, &done).text() == "DataLoss: a cause");
  CHECK(done.empty());
}

TEST_CASE("result waits: a program is exposed to a gradient from its step's beginning, not while ranks agree on it") {
  HeldWaits it(8322);
  test::HeldSession& session = it.session;
  ResultWaits& waits = it.waits;
  const GradientId id = session.declare("weight");
  session.claim();
  const Handle handle = session.submit(id);  // held: the ranks have not agreed on it
  Status status;
  Clock::time_point waited;
  std::thread program([&] {
    status = waits.wait(handle, 60, Waiter::kProgram);
    waited = Clock::now();
  });
  while (session.group->told().needs.empty()) std::this_thread::yield();  // it waits
  const Clock::time_point agreed = Clock::now();
  session.openings.agreed({{"gradient weight"}, true});
  program.join();
  CHECK(status.text() == "OK");
  const double exposed_s = session.tables.gradients.run(static_cast<std::size_t>(id))->exposed.seconds();
  CHECK(exposed_s > 0);
  CHECK(exposed_s <= Seconds(waited - agreed).count());
}
