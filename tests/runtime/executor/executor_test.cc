// SPDX-License-Identifier: Apache-2.0
//
// An executor that has ended still answers.
#include "runtime/executor/executor.h"

#include <catch2/catch.hpp>

#include "runtime/device/host/host_device.h"
#include "runtime/session/declarations.h"
#include "tests/runtime/session/wrapped_transport.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// One rank alone, with one gradient in it.
struct Alone {
  explicit Alone(std::atomic<int>* late_calls, std::uint64_t epoch) {
    TransportOptions options;
    options.epoch = epoch;
    executor = std::make_unique<Executor>(
        ExecutorOptions{}, std::move(test::open_wrapped({.late_calls = late_calls})(options)).value(), *device);
    const std::string address = executor->address();
    REQUIRE(executor->connect({&address, 1}, {[](Rank, const Status&) {}, [](const Status&) {}, [](std::uint64_t) {}})
                .is_ok());
    std::vector<std::unique_ptr<GradientRun>> runs = one("weight");
    run = runs[0].get();
    REQUIRE(executor->adopt(std::move(runs)).is_ok());
  }

  static std::vector<std::unique_ptr<GradientRun>> one(const std::string& name) {
    const Result<Declared> declared = declare_gradient(Plan{}, {name, DType::kFloat32, {100}, 0}, Topology::flat(1));
    std::vector<std::unique_ptr<GradientRun>> runs;
    runs.push_back(std::move(make_run(*declared, Topology::flat(1), 0, 0)).value());
    return runs;
  }

  std::unique_ptr<Device> device = make_host_device();
  std::unique_ptr<Executor> executor;
  GradientRun* run = nullptr;
};

}  // namespace

TEST_CASE("executor: after its end every question has an answer, and the transport is left alone") {
  for (const bool failed : {true, false}) {
    std::atomic<int> late_calls = 0;
    Alone alone(&late_calls, 90 + failed);
    Executor& executor = *alone.executor;
    if (failed) {
      executor.fail(data_loss("a cause"));
    } else {
      executor.stop(after(Seconds(1)));
    }
    const std::string wanted = failed ? "DataLoss: a cause" : "Aborted: the session was closed";
    CHECK(executor.wait_for_end(after(Seconds(10))).text() == wanted);
    CHECK(executor.adopt(Alone::one("another")).text() == wanted);
    std::vector<float> values(100);
    const Executor::Start start{alone.run, 0, {reinterpret_cast<std::byte*>(values.data()), 400}};
    executor.submit({&start, 1});
    CHECK(executor.idle());
    CHECK(executor.wait(*alone.run, 0, Clock::now()).text() == wanted);
    CHECK(executor.wait_all(Clock::now()).text() == wanted);
    executor.peer_left({0, 0, {}, peer_failure("too late")});
    executor.fail(internal_error("too late"));
    CHECK(executor.failure().text() == wanted);
    executor.stop(Clock::now());
    CHECK(late_calls == 0);
  }
}
