// SPDX-License-Identifier: Apache-2.0
//
// The end of a session whose results come late. Its trainings are in session_staleness_test.cc.
#include "runtime/session/delayed_session.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/host/host_device.h"
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
