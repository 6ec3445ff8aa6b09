// SPDX-License-Identifier: Apache-2.0
//
// An executor that has ended still answers.
#include "runtime/executor/executor.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "runtime/device/wrapping_device.h"
#include "runtime/session/declarations.h"
#include "tests/runtime/executor/one_rank.h"
#include "tests/runtime/session/hanging_device.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/idle_transport.h"
#include "tests/support/logged.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Counts the buffers that are alive.
class CountingDevice final : public WrappingDevice {
 public:
  explicit CountingDevice(std::unique_ptr<Device> inner) : WrappingDevice(std::move(inner)) {}
  Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes, Memory kind) override {
    Result<std::unique_ptr<DeviceBuffer>> buffer = WrappingDevice::allocate(bytes, kind);
    if (!buffer) return buffer.status();
    return std::unique_ptr<DeviceBuffer>(std::make_unique<Counted>(std::move(*buffer), alive));
  }

  const std::shared_ptr<int> alive = std::make_shared<int>(0);

 private:
  class Counted final : public DeviceBuffer {
   public:
    Counted(std::unique_ptr<DeviceBuffer> inner, std::shared_ptr<int> alive)
        : inner_(std::move(inner)), alive_(std::move(alive)) {
      device_ = inner_->device();
      host_ = inner_->view();
      ++*alive_;
    }
    ~Counted() override { --*alive_; }

   private:
    std::unique_ptr<DeviceBuffer> inner_;
    std::shared_ptr<int> alive_;
  };
};

/// Two peers that confirm nothing until somebody lets them.
class Unconfirmed final : public test::IdleTransport {
 public:
  explicit Unconfirmed(const std::atomic<bool>& confirmed) : confirmed_(confirmed) {}
  bool settled() const override { return confirmed_; }
  std::vector<Rank> unsettled() const override { return {1, 2}; }
  void wait(Clock::time_point) override { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

 private:
  const std::atomic<bool>& confirmed_;
};

/// One rank alone, with one gradient in it.
struct Alone {
  Alone(const test::Tampering& tampering, std::uint64_t epoch, std::unique_ptr<Device> on = make_host_device())
      : device(std::make_unique<CountingDevice>(std::move(on))) {
    TransportOptions options;
    options.epoch = epoch;
    executor = std::make_unique<Executor>(ExecutorOptions{.device_rest = Seconds(0.02)},
                                          std::move(test::open_wrapped(tampering)(options)).value(), *device);
    const std::string address = executor->address();
    REQUIRE(executor->connect({&address, 1}, {[](Rank, const Status&) {}, [](const Status&) {}, [](std::uint64_t) {}})
                .is_ok());
    std::vector<std::unique_ptr<GradientRun>> runs = one("weight");
    run = runs[0].get();
    REQUIRE(test::adopt(*executor, std::move(runs)).is_ok());
  }

  /// A step over these values, on the device, has begun with its first task.
  void begin(std::vector<float>& values) {
    const GradientStart start{run, 0, {}, DeviceView::of(values.data(), values.size() * sizeof(float))};
    executor->requests().submit({&start, 1});
    // The round that has answered a question begins tasks, and then the next one answers.
    for (int i = 0; i < 2; ++i) CHECK(executor->requests().ask<bool>([] { return true; }, Seconds(60)));
  }

  static std::vector<std::unique_ptr<GradientRun>> one(const std::string& name, std::int64_t elements = 100) {
    Plan plan;
    plan.defaults.codec = CodecChoice{"qsgd", {}};  // it keeps nothing
    const Result<Declared> declared = declare_gradient(plan, {name, DType::kFloat32, {elements}, 0}, Topology::flat(1));
    std::vector<std::unique_ptr<GradientRun>> runs;
    runs.push_back(std::move(make_run(*declared, Topology::flat(1), 0, 0)).value());
    return runs;
  }

  std::unique_ptr<CountingDevice> device;
  std::unique_ptr<Executor> executor;
  GradientRun* run = nullptr;
};

}  // namespace

TEST_CASE("executor: after its end every question has an answer, and the transport is left alone") {
  for (const bool failed : {true, false}) {
    std::atomic<int> late_calls = 0;
    Alone alone({.late_calls = &late_calls}, 90 + failed);
    Executor& executor = *alone.executor;
    if (failed) {
      executor.failures().fail(data_loss("a cause"));
    } else {
      CHECK(executor.stop(after(Seconds(1)), after(Seconds(60))));
    }
    const std::string wanted = failed ? "DataLoss: a cause" : "Aborted: the session was closed";
    CHECK(executor.failures().wait_for_end(after(Seconds(10))).text() == wanted);
    CHECK(test::adopt(executor, Alone::one("another")).text() == wanted);
    std::vector<float> values(100);
    const GradientStart start{alone.run, 0, {reinterpret_cast<std::byte*>(values.data()), 400}};
    executor.requests().submit({&start, 1});
    CHECK(executor.waits().idle());
    CHECK(executor.waits().wait(*alone.run, 0, Clock::now()).text() == wanted);
    CHECK(executor.waits().wait_all(Clock::now()).text() == wanted);
    executor.peer_left({0, 0, {}, peer_failure("too late")});
    executor.failures().fail(internal_error("too late"));
    CHECK(executor.failures().failure().text() == wanted);
    CHECK(executor.stop(Clock::now(), Clock::now()));
    CHECK(late_calls == 0);
  }
}

TEST_CASE("executor: memory that the network may still write to stays in use, and the failure says so") {
  for (const int how : {0, 1, 2}) {
    const bool holds_memory = how > 0;  // a transport that throws has not said that it stopped, either
    Alone alone({.holds_memory = how == 1, .throws_in_close = how == 2}, 97 + how);
    const std::shared_ptr<int> alive = alone.device->alive;
    REQUIRE(*alive > 0);
    alone.executor->failures().fail(data_loss("a cause"));
    const std::string heard = alone.executor->failures().wait_for_end(after(Seconds(60))).text();
    CHECK_THAT(heard, Catch::StartsWith("DataLoss: a cause"));
    CHECK((heard.find("still in use") != std::string::npos) == holds_memory);
    alone.executor.reset();
    CHECK((*alive > 0) == holds_memory);
  }
}

TEST_CASE("executor: memory that a device may still write to stays in use, and the failure says so") {
  for (const bool begins : {false, true}) {
    Alone alone({}, 9105 + begins, std::make_unique<test::HangingDevice>());
    std::vector<float> values(100);
    if (begins) alone.begin(values);
    const std::shared_ptr<int> alive = alone.device->alive;
    const int before = *alive;
    alone.executor->failures().fail(data_loss("a cause"));
    const std::string more = "; the device has not ended its work: the gradients' memory is still in use";
    CHECK(alone.executor->failures().wait_for_end(after(Seconds(60))).text() ==
          "DataLoss: a cause" + (begins ? more : ""));
    alone.executor.reset();
    CHECK(*alive == (begins ? before : 0));
  }
}

TEST_CASE("executor: a failure ends the wait for a device's tasks whose memory a larger gradient needs") {
  Alone alone({}, 9107, std::make_unique<test::HangingDevice>());
  std::vector<float> values(100);
  alone.begin(values);
  auto larger = Alone::one("larger", 100'000);
  std::atomic<bool> has_come = false;
  Status taken;
  REQUIRE(alone.executor->requests().post([&] {
    has_come = true;
    taken = alone.executor->take_in(std::move(larger));
  }));
  while (!has_come) std::this_thread::yield();
  alone.executor->failures().fail(data_loss("a cause"));
  CHECK_THAT(alone.executor->failures().wait_for_end(after(Seconds(60))).text(),
             Catch::StartsWith("DataLoss: a cause; the device"));
  CHECK(taken.text() == "DataLoss: a cause");
}

TEST_CASE("executor: a rank that cannot leave logs which peers have not confirmed, and says so at its deadline") {
  const test::Logged logged;
  std::atomic<bool> confirmed = false;
  const std::unique_ptr<Device> device = make_host_device();
  Executor executor({.stall = Seconds(0.05)}, std::make_unique<Unconfirmed>(confirmed), *device);
  const std::vector<std::string> nobody;
  REQUIRE(executor.connect(nobody, {[](Rank, const Status&) {}, [](const Status&) {}, [](std::uint64_t) {}}).is_ok());
  CHECK(executor.settle(Clock::now()).text() == "Timeout: ranks 1, 2 have not confirmed that everything has arrived");
  std::string settled;
  std::thread leaving([&] { settled = executor.settle(after(Seconds(60))).text(); });
  CHECK(logged.wait_for("rank 0: closing: ranks 1, 2 have not confirmed that everything has arrived"));
  confirmed = true;
  leaving.join();
  CHECK(settled == "OK");
}
