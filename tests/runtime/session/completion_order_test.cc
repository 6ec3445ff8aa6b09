// SPDX-License-Identifier: Apache-2.0
//
// Completions of gradients that are found done together, and of those that are done when the job fails.
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "runtime/session/completions.h"
#include "tests/runtime/session/lone_session.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// A session whose job fails once four gradients are waited for. Those with even handles are done by then.
class EvenDone final : public test::LoneSession {
 public:
  Status wait_any(std::span<const Handle> handles, Clock::time_point, const std::atomic<bool>&,
                  std::vector<Handle>* done) override {
    done->clear();
    if (handles.size() < 4) {
      std::this_thread::yield();
      return Status::ok();
    }
    for (const Handle handle : handles) {
      if (static_cast<std::uint64_t>(handle) % 2 == 0) done->push_back(handle);
    }
    return aborted("the end");
  }
};

}  // namespace

TEST_CASE("completions: they are called in the order of add(), and a gradient that is done has not failed") {
  EvenDone session;
  Completions completions(session);
  std::vector<std::string> told;  // by one thread
  REQUIRE(completions.prepare(4).is_ok());
  for (const int number : {6, 3, 2, 5}) {
    completions.add(Handle(number), [&](Handle handle, const Status& status) {
      told.push_back(std::to_string(static_cast<std::uint64_t>(handle)) + " " + status.text());
    });
  }
  CHECK(completions.drain(after(Seconds(20))).is_ok());
  CHECK(told == std::vector<std::string>{"6 OK", "3 Aborted: the end", "2 OK", "5 Aborted: the end"});
}
