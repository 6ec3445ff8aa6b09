// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/step_waits.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// With a thread that answers questions.
struct Silent : test::BegunStep {
  explicit Silent(std::uint64_t epoch) : BegunStep(0, epoch) {}
  ~Silent() {
    over = true;
    progress.join();
  }

  StepWaits waits{one.waiters, one.requests, one.parts.missing};
  std::atomic<bool> over = false;
  std::thread progress{[this] {
    while (!over) {
      one.take_requests();
      std::this_thread::yield();
    }
  }};
};

}  // namespace

TEST_CASE("step waits: a wait that ends at its deadline says what is missing, and one that is done nothing") {
  Silent silent(790);
  CHECK_FALSE(silent.waits.idle());
  CHECK_THAT(silent.waits.wait(silent.run, 0, Clock::now()).text(),
             Catch::StartsWith("Timeout: nothing came from rank 1 for partition 0"));
  CHECK(silent.waits.knows_who_is_late(silent.run));
  CHECK(silent.waits.wait_all(Clock::now()).text() == "Timeout: 1 gradients are under way");
  silent.run.step.go_to(1);
  CHECK(silent.waits.wait(silent.run, 0, Clock::now()).is_ok());
}

TEST_CASE("step waits: one of several steps is enough, or a nudge") {
  Silent silent(791);
  const StepWaits::Awaited awaited[] = {{nullptr, 0}, {&silent.run, 0}};
  std::atomic<bool> interrupted = false;
  const auto wait = [&](Clock::time_point deadline) {
    return silent.waits.wait_any(awaited, deadline, [&] { return interrupted.load(); }).text();
  };
  CHECK(wait(Clock::now()) == "Timeout: none of 2 is done");
  std::thread other([&] {
    interrupted = true;
    silent.waits.nudge();
  });
  CHECK(wait(after(Seconds(60))) == "OK");
  other.join();
  interrupted = false;
  silent.run.step.go_to(1);
  CHECK(wait(Clock::now()) == "OK");
}

TEST_CASE("step waits: a wait for a step that is forgotten ends with the nudge that says so") {
  Silent silent(793);
  std::atomic<bool> is_forgotten = false;
  std::thread other([&] {
    is_forgotten = true;
    silent.waits.nudge();
  });
  CHECK(silent.waits.wait(silent.run, 0, after(Seconds(60)), [&] { return is_forgotten.load(); }).text() == "OK");
  other.join();
}

TEST_CASE("step waits: all of them end with the failure, once work has stopped") {
  Silent silent(792);
  silent.one.failures.fail(data_loss("a cause"));
  silent.one.waiters.end({});
  CHECK(silent.waits.wait(silent.run, 0, after(Seconds(60))).text() == "DataLoss: a cause");
  CHECK(silent.waits.wait_all(after(Seconds(60))).text() == "DataLoss: a cause");
  CHECK(silent.waits.wait_until([] { return false; }, after(Seconds(60))).text() == "DataLoss: a cause");
  CHECK(silent.waits.idle());
}
