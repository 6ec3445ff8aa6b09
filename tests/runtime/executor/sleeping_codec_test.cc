// SPDX-License-Identifier: Apache-2.0
//
// A codec that sleeps: nobody hears of a failure while it may still write, and every question has an answer meanwhile.
#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>

#include "runtime/device/host/host_device.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/run_states.h"
#include "runtime/session/declarations.h"
#include "runtime/transport/loopback/factory.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr Elements kSleeperRows = 300, kSleeperColumns = 200;  // large enough for a stream

/// Writes its result when it is told to wake up.
struct Bed {
  std::atomic<bool> asleep = false, woken = false, written = false;
};

class Sleeper final : public compll::RoundsCodec {
 public:
  explicit Sleeper(Bed& bed) : bed_(bed) { info_.rounds = 0; }
  const compll::CodecInfo& info() const override { return info_; }
  compll::RoundsShape shape(Elements, Elements) const override { return {{}, 0, 1}; }
  void prepare_thread() const override {}
  void turn(const compll::Turn& turn, const compll::EncodeContext&) const override {
    bed_.asleep = true;
    while (!bed_.woken) std::this_thread::yield();
    for (Elements i = 0; i < turn.rows * turn.columns; ++i) turn.out[i] = 7;
    bed_.written = true;
  }

 private:
  Bed& bed_;
  compll::CodecInfo info_;
};

/// One rank alone with one gradient, whose only task sleeps.
struct Alone {
  Alone(Bed& bed, int streams, std::uint64_t epoch) {
    TransportOptions transport;
    transport.epoch = epoch;
    ExecutorOptions options;
    options.streams = streams;
    executor = std::make_unique<Executor>(options, std::move(make_loopback(transport)).value(), *device);
    const auto ignore = [](const Status&) {};
    const std::string address = executor->address();
    REQUIRE(executor->connect({&address, 1}, {[](Rank, const Status&) {}, ignore, [](std::uint64_t) {}}).is_ok());
    std::vector<std::unique_ptr<GradientRun>> runs;
    runs.push_back(test::make_rounds_weight(std::make_unique<Sleeper>(bed), 1, 0, kSleeperRows, kSleeperColumns));
    run = runs[0].get();
    REQUIRE(allocate_kept(*run, *device).is_ok());
    REQUIRE(test::adopt(*executor, std::move(runs)).is_ok());
    const GradientStart start{run, 0, {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)}};
    executor->requests().submit({&start, 1});
    while (!bed.asleep) std::this_thread::yield();
  }

  std::vector<float> values = std::vector<float>(kSleeperRows * kSleeperColumns, 1.0f);
  std::unique_ptr<Device> device = make_host_device();
  std::unique_ptr<Executor> executor;
  GradientRun* run = nullptr;
};

}  // namespace

TEST_CASE("executor: once a failure has been returned nothing writes to the gradient, however long a codec sleeps") {
  for (const int streams : {0, 1}) {
    Bed bed;
    Alone alone(bed, streams, 500 + static_cast<std::uint64_t>(streams));
    alone.executor->failures().fail(data_loss("a cause"));
    const Status early = alone.executor->failures().wait_for_end(after(Seconds(0.2)));
    CHECK(early.code() == StatusCode::kDataLoss);
    CHECK_THAT(early.message(), Catch::StartsWith("a cause; ") && Catch::Contains("still in use"));
    std::string heard;
    bool written = false;
    std::thread waiter([&] {
      heard = alone.executor->waits().wait(*alone.run, 0, after(Seconds(60))).text();
      written = bed.written;
    });
    bed.woken = true;
    CHECK(alone.executor->failures().wait_for_end(after(Seconds(60))).text() == "DataLoss: a cause");
    CHECK(bed.written);
    waiter.join();
    CHECK((heard == "DataLoss: a cause" || heard == "OK"));  // without streams the task ended the gradient
    CHECK(written);
  }
}

TEST_CASE("executor: a wait ends at its deadline although the progress thread sleeps in a codec") {
  Bed bed;
  Alone alone(bed, 0, 510);
  const Status late = alone.executor->waits().wait(*alone.run, 0, Clock::now());
  CHECK(late.code() == StatusCode::kTimeout);
  CHECK_THAT(late.message(), Catch::Contains("the progress thread is busy"));
  CHECK(alone.executor->waits().knows_who_is_late(*alone.run));
  bed.woken = true;
  CHECK(alone.executor->waits().wait(*alone.run, 0, after(Seconds(60))).is_ok());
}

TEST_CASE("executor: an exception in one call leaves no other caller without an answer") {
  Bed bed;
  Alone alone(bed, 0, 520);
  // All of these wait for the progress thread, which takes them together when it wakes up.
  alone.executor->call([] { throw std::runtime_error("out of luck"); });
  std::string told;
  std::thread asker([&] { told = test::adopt(*alone.executor, {}).text(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  bed.woken = true;
  asker.join();
  CHECK((told == "OK" || told.find("out of luck") != std::string::npos));
  CHECK_THAT(alone.executor->failures().wait_for_end(after(Seconds(60))).text(), Catch::Contains("out of luck"));
}

TEST_CASE("executor: stop() gives a task that does not end up at the deadline, and waits for it when asked again") {
  for (const int streams : {0, 1}) {
    Bed bed;
    Alone alone(bed, streams, 530 + static_cast<std::uint64_t>(streams));
    CHECK_FALSE(alone.executor->stop(Clock::now(), Clock::now()));
    CHECK_FALSE(bed.written);
    CHECK(alone.executor->failures().failure().text() == "Aborted: the session was closed");
    bed.woken = true;
    CHECK(alone.executor->stop(Clock::now(), after(Seconds(60))));
    CHECK(bed.written);
  }
}
