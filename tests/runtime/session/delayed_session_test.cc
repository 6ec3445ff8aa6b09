// SPDX-License-Identifier: Apache-2.0
//
// The end of a session whose results come late, and its states. Its trainings are in session_staleness_test.cc.
#include "runtime/session/delayed_session.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lone_session.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// A session whose steps end once they are let go.
class HeldSteps final : public test::LoneSession {
 public:
  Result<StepResult> step() override {
    let_go_.wait_for(std::chrono::seconds(10));
    return StepResult{};
  }
  void let_go() { goes_.set_value(); }

 private:
  std::promise<void> goes_;
  std::shared_future<void> let_go_{goes_.get_future()};
};

/// Doubles what is submitted. Its state says how many steps have ended.
class SlowDoubles final : public test::LoneSession {
 public:
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override {
    for (const Submission& one : submissions) {
      std::vector<float> values = test::values_of(one);
      for (float& value : values) value *= 2;
      std::copy(values.begin(), values.end(), reinterpret_cast<float*>(one.data.data));
    }
    return LoneSession::submit(submissions, handles);
  }
  Result<StepResult> step() override {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return StepResult{steps_++, true, ""};
  }
  Result<SessionState> state() const override {
    SessionState state;
    state.step = steps_;
    return state;
  }

 private:
  std::atomic<std::uint32_t> steps_{0};
};

const std::string kClosed = "Aborted: the session was closed";

}  // namespace

TEST_CASE("delayed session: no step ends after the close, as no thread would reduce it") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    const std::unique_ptr<Device> host = make_host_device();
    const Result<std::unique_ptr<Session>> session =
        DelayedSession::wrap(std::make_unique<test::LoneSession>(), *host, 1, 60);
    REQUIRE(session);
    if (begun) REQUIRE((*session)->step());
    CHECK((*session)->close().is_ok());
    CHECK((*session)->step().status().text() == kClosed);
  }
}

TEST_CASE("delayed session: a close ends a step that waits for an earlier one to be reduced") {
  const std::unique_ptr<Device> host = make_host_device();
  auto wrapped = std::make_unique<HeldSteps>();
  HeldSteps& steps = *wrapped;
  const Result<std::unique_ptr<Session>> session = DelayedSession::wrap(std::move(wrapped), *host, 1, 60);
  REQUIRE(session);
  REQUIRE((*session)->step());  // it is reduced until the steps are let go
  std::future<std::string> waits = std::async(std::launch::async, [&] { return (*session)->step().status().text(); });
  std::future<Status> closes = std::async(std::launch::async, [&] { return (*session)->close(); });
  CHECK(waits.get() == kClosed);
  steps.let_go();
  CHECK(closes.get().is_ok());
}

TEST_CASE("delayed session: a state that another thread takes while steps end has the results of its own step") {
  constexpr std::uint32_t kSteps = 200;
  const std::unique_ptr<Device> host = make_host_device();
  const Result<std::unique_ptr<Session>> session = DelayedSession::wrap(std::make_unique<SlowDoubles>(), *host, 1, 60);
  REQUIRE(session);
  const Result<GradientId> id = (*session)->declare({"a", DType::kFloat32, {2}, 0});
  REQUIRE(id);
  const auto take = [&]() -> std::string {
    const Result<SessionState> state = (*session)->state();
    if (!state) return state.status().code() == StatusCode::kInvalidArgument ? "" : state.status().text();
    const float result = 2.0f * static_cast<float>(state->step);  // each step submits its number plus 1
    const bool right = state->gradients.at("a (late)").residual == std::vector<float>{result, result};
    return right ? "" : "the state of step " + std::to_string(state->step) + " has other results";
  };
  std::atomic<bool> over = false;
  std::string wrong;
  std::thread taker([&] {
    while (!over && wrong.empty()) {
      wrong = take();
      std::this_thread::yield();
    }
  });
  Status failed;
  for (std::uint32_t step = 0; step < kSteps && failed.is_ok(); ++step) {
    std::vector<float> values(2, static_cast<float>(step + 1));
    const Submission one{*id, test::view_of(values)};
    failed = (*session)->submit({&one, 1}).status();
    if (failed) failed = (*session)->step().status();
  }
  over = true;
  taker.join();
  CHECK(failed.text() == "OK");
  CHECK(wrong == "");
  CHECK((*session)->state()->step == kSteps);
  CHECK(take() == "");
}
