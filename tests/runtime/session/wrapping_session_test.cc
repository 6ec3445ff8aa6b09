// SPDX-License-Identifier: Apache-2.0
//
// Sessions that wrap another one, and have memory of their own for it: of groups, and of late results.
#include "runtime/session/wrapping_session.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/host/host_device.h"
#include "runtime/device/wrapping_device.h"
#include "runtime/session/delayed_session.h"
#include "runtime/session/grouped_session.h"
#include "tests/runtime/session/hanging_device.h"
#include "tests/runtime/session/lone_session.h"
#include "tests/support/kept_for_ever.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

/// A buffer that counts while it lives.
class Counted final : public DeviceBuffer {
 public:
  Counted(std::unique_ptr<DeviceBuffer> inner, int& live) : inner_(std::move(inner)), live_(live) {
    device_ = inner_->device();
    ++live_;
  }
  ~Counted() override { --live_; }

 private:
  const std::unique_ptr<DeviceBuffer> inner_;
  int& live_;
};

/// A device beside the host that counts its buffers.
class CountingDevice final : public WrappingDevice {
 public:
  explicit CountingDevice(int& live) : WrappingDevice(make_host_device()), live_(live) {}
  bool is_host() const override { return false; }
  Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes, Memory kind) override {
    Result<std::unique_ptr<DeviceBuffer>> made = WrappingDevice::allocate(bytes, kind);
    if (!made) return made;
    return std::unique_ptr<DeviceBuffer>(std::make_unique<Counted>(std::move(*made), live_));
  }

 private:
  int& live_;
};

/// A session that is closed, while its threads may have ended or not.
class Closed final : public LoneSession {
 public:
  explicit Closed(bool holds_memory) : holds_memory_(holds_memory) {}
  bool holds_memory() const override { return holds_memory_; }

 private:
  const bool holds_memory_;
};

/// A session whose gradients are done as soon as they are submitted.
class AtOnce final : public LoneSession {
 public:
  bool done(Handle) const override { return true; }
};

/// A session in which something else happens while it begins a consensus.
class Interrupted final : public LoneSession {
 public:
  explicit Interrupted(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
  Status begin_consensus() override {
    meanwhile_();
    return Status::ok();
  }

 private:
  const std::function<void()> meanwhile_;
};

/// A session whose first close waits until it is let go, and fails.
class SlowToClose final : public LoneSession {
 public:
  struct Calls {
    std::promise<void> begun, let_go;
    std::atomic<int> count{0};
  };
  explicit SlowToClose(Calls& calls) : calls_(calls) {}
  Status close() override {
    if (calls_.count++ > 0) return Status::ok();
    calls_.begun.set_value();
    calls_.let_go.get_future().wait();
    return aborted("3 gradients were under way");
  }

 private:
  Calls& calls_;
};

}  // namespace

TEST_CASE("wrapping session: no step with groups ends while another thread begins a consensus in it") {
  const std::unique_ptr<Device> host = make_host_device();
  Plan plan;
  plan.groups.push_back({"g", {"a", "b"}, {}});
  Session* session = nullptr;
  std::future<bool> ends;
  bool ended_meanwhile = false;
  const auto meanwhile = [&] {
    ends = std::async(std::launch::async, [&] { return session->step().status().is_ok(); });
    ended_meanwhile = ends.wait_for(std::chrono::milliseconds(300)) == std::future_status::ready;
  };
  GroupedSession grouped(std::make_unique<Interrupted>(meanwhile), *host, plan, 30, "", RecordedRanks{},
                         std::make_shared<RankPaces>());
  session = &grouped;
  CHECK(session->begin_consensus().is_ok());
  CHECK(ends.get());
  CHECK_FALSE(ended_meanwhile);
}

TEST_CASE("wrapping session: of two threads that close one waits for the other, and both get its status") {
  const std::unique_ptr<Device> host = make_host_device();
  const bool has_groups = GENERATE(false, true);
  CAPTURE(has_groups);
  SlowToClose::Calls calls;
  std::unique_ptr<Session> session;
  if (has_groups) {
    Plan plan;
    plan.groups.push_back({"g", {"a", "b"}, {}});
    session = std::make_unique<GroupedSession>(std::make_unique<SlowToClose>(calls), *host, plan, 30, "",
                                               RecordedRanks{}, std::make_shared<RankPaces>());
  } else {
    Result<std::unique_ptr<Session>> delayed = DelayedSession::wrap(std::make_unique<SlowToClose>(calls), *host, 1, 30);
    REQUIRE(delayed);
    session = std::move(*delayed);
  }
  const auto close = [&] { return session->close().text(); };
  std::future<std::string> first = std::async(std::launch::async, close);
  calls.begun.get_future().wait();
  std::future<std::string> second = std::async(std::launch::async, close);
  calls.let_go.set_value();
  CHECK(first.get() == "Aborted: 3 gradients were under way");
  CHECK(second.get() == "Aborted: 3 gradients were under way");
  CHECK(close() == "Aborted: 3 gradients were under way");
  CHECK(calls.count == 1);
}

TEST_CASE("wrapping session: a state is loaded once no device copies the result of a group's member") {
  SlowDevice device;
  Plan plan;
  plan.groups.push_back({"g", {"a", "b"}, {}});
  GroupedSession session(std::make_unique<AtOnce>(), device, plan, 30, "", RecordedRanks{},
                         std::make_shared<RankPaces>());
  std::array<std::array<float, 2>, 2> values{};
  std::array<Submission, 2> both;
  std::array<Handle, 2> handles{};
  for (std::size_t i = 0; i < both.size(); ++i) {
    const Result<GradientId> id = session.declare({i == 0 ? "a" : "b", DType::kFloat32, {2}, 0});
    REQUIRE(id);
    both[i] = {*id, {}, DeviceView::of(values[i].data(), sizeof values[i])};
  }
  REQUIRE(session.submit(both, handles).is_ok());
  device.looks = 1;
  REQUIRE_FALSE(session.done(handles[0]));  // its copy has begun
  device.looks = 3;
  CHECK(session.load_state({}).is_ok());
  CHECK(device.looks == 0);
}

TEST_CASE("wrapping session: the memory of groups stays while a thread of the wrapped session may use it") {
  for (const bool holds : {false, true}) {
    CAPTURE(holds);
    const KeptForEver on_purpose;
    int live = 0;
    CountingDevice device(live);
    Plan plan;
    plan.groups.push_back({"g", {"a", "b"}, {}});
    {
      GroupedSession session(std::make_unique<Closed>(holds), device, plan, 30, "", RecordedRanks{},
                             std::make_shared<RankPaces>());
      REQUIRE(session.declare({"a", DType::kFloat32, {2}, 0}));
      REQUIRE(session.declare({"b", DType::kFloat32, {2}, 0}));
      REQUIRE(live == 1);
    }
    CHECK(live == (holds ? 1 : 0));
  }
}

TEST_CASE("wrapping session: the memory of late results stays while a thread of the wrapped session may use it") {
  for (const bool holds : {false, true}) {
    CAPTURE(holds);
    const KeptForEver on_purpose;
    constexpr std::uint32_t kStaleness = 2;
    constexpr int kBuffers = 3;  // one for each step that is late, and a spare one
    int live = 0;
    CountingDevice device(live);
    Result<std::unique_ptr<Session>> session =
        DelayedSession::wrap(std::make_unique<Closed>(holds), device, kStaleness, 30);
    REQUIRE(session);
    REQUIRE((*session)->declare({"weight", DType::kFloat32, {2}, 0}));
    REQUIRE(live == kBuffers);
    session->reset();
    CHECK(live == (holds ? kBuffers : 0));
  }
}
