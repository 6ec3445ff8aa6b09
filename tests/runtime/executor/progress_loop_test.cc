// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/progress_loop.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// A lone rank with a progress thread.
struct Alone {
  explicit Alone(std::uint64_t epoch) : one(0, 1, epoch) {
    const std::string address = one.transport->address();
    REQUIRE(one.transport->connect({&address, 1}, one.parts.messages).is_ok());
    REQUIRE(loop.start().is_ok());
  }
  Status take_in(const std::string& name) {
    const auto taken = one.requests.ask<Status>(
        [&] {
          std::vector<std::unique_ptr<GradientRun>> runs;
          runs.push_back(test::make_weight(name, 1, 0));
          return loop.take_in(std::move(runs));
        },
        Seconds(60));
    return taken.value_or(timeout_error("no answer"));
  }
  bool stop() { return loop.stop(after(Seconds(1)), after(Seconds(60))); }

  test::OneRank one;
  ProgressLoop loop{*one.transport, one.requests, one.waiters, one.failures, one.record, one.parts};
};

}  // namespace

TEST_CASE("progress loop: gradients that are taken in go through their steps, until it is stopped") {
  Alone alone(780);
  REQUIRE(alone.take_in("weight").is_ok());
  GradientRun& run = *alone.one.parts.runs.gradients()[0];
  std::vector<float> values(100, 1);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const GradientStart start{&run, step, {reinterpret_cast<std::byte*>(values.data()), 400}};
    alone.one.requests.submit({&start, 1});
    const auto done = [&] { return run.step.completed() > step; };
    const std::optional<Status> waited = alone.one.waiters.wait_until(done, after(Seconds(60)));
    REQUIRE(waited);
    CHECK(waited->is_ok());
  }
  CHECK(alone.loop.processor_seconds() > 0);
  CHECK(alone.one.requests.post([&] { alone.loop.begin_settling(); }));
  const auto settled = alone.one.waiters.wait_until([&] { return alone.one.waiters.is_settled(); }, after(Seconds(60)));
  REQUIRE(settled);
  CHECK(settled->is_ok());
  CHECK(alone.stop());
  CHECK(alone.stop());
  CHECK(alone.one.failures.failure().text() == "Aborted: the session was closed");
  CHECK(alone.one.reported.empty());
  CHECK_FALSE(alone.one.requests.post([] {}));
}

TEST_CASE("progress loop: an exception of a call is Internal, and the other calls are made") {
  Alone alone(781);
  std::atomic<bool> called = false;
  static_cast<void>(alone.one.requests.post([&] {
    // While this runs both of the others are left.
    static_cast<void>(alone.one.requests.post([] { throw std::runtime_error("a fault"); }));
    static_cast<void>(alone.one.requests.post([&] { called = true; }));
  }));
  CHECK(alone.one.failures.wait_for_end(after(Seconds(60))).text() ==
        "Internal: the progress thread met an exception: a fault");
  CHECK(called);
  CHECK(alone.take_in("weight").text() != "OK");
  CHECK(alone.stop());
  CHECK(alone.one.reported.size() == 1);
}

TEST_CASE("progress loop: after a failure no gradient is taken in, and the failure says why") {
  Alone alone(782);
  REQUIRE(alone.stop());
  CHECK(alone.loop.take_in({}).text() == "Aborted: the session was closed");
  CHECK(alone.one.parts.runs.gradients().empty());
}
