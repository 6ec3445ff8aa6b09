// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_step.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

std::string text_of(const RunStep& step) {
  return (step.is_under_way() ? "step " + std::to_string(step.number()) + " is under way" : "between steps") + ", " +
         std::to_string(step.completed()) + " complete";
}

}  // namespace

TEST_CASE("run step: its transitions are those of the table in docs/threads.md") {
  struct Transition {
    const char* from;
    std::function<void(RunStep&)> event;
    const char* to;
  };
  const auto now = Clock::now();
  const Transition table[] = {
      {"between steps, 7 complete", [&](RunStep& step) { step.begin(7, {}, now); }, "step 7 is under way, 7 complete"},
      {"between steps, 7 complete", [](RunStep& step) { step.go_to(3); }, "between steps, 3 complete"},
      {"between steps, 7 complete", [](RunStep& step) { step.show(9); }, "between steps, 7 complete"},
      {"step 7 is under way, 7 complete", [&](RunStep& step) { step.end(now); }, "between steps, 8 complete"},
      {"step 7 is under way, 7 complete", [](RunStep& step) { step.stop(); }, "between steps, 7 complete"},
      {"step 7 is under way, 7 complete", [](RunStep& step) { step.note_finite(false); },
       "step 7 is under way, 7 complete"},
      {"step 7 is under way, 7 complete", [](RunStep& step) { step.keep_nothing(); },
       "step 7 is under way, 7 complete"},
  };
  for (const Transition& transition : table) {
    RunStep step;
    step.go_to(7);
    if (std::string(transition.from).starts_with("step")) step.begin(7, {}, now);
    CHECK(text_of(step) == transition.from);
    transition.event(step);
    CHECK(text_of(step) == transition.to);
  }
}

TEST_CASE("run step: a step is under way from its beginning to its end, which completes it") {
  RunStep step;
  CHECK_FALSE(step.is_under_way());
  CHECK(step.completed() == 0);
  std::vector<std::byte> data(4);
  const Clock::time_point now = Clock::now();
  step.begin(7, {data.data(), data.size()}, now);
  CHECK(step.is_under_way());
  CHECK(step.is_under_way(7));
  CHECK_FALSE(step.is_under_way(6));
  CHECK(step.data().data == data.data());
  CHECK(step.begun() == now);
  step.end(now + std::chrono::seconds(2));
  CHECK_FALSE(step.is_under_way(7));
  CHECK(step.has_completed(7));
  CHECK_FALSE(step.has_completed(8));
  step.begin(8, {}, now);
  step.end(now + std::chrono::seconds(1));
  CHECK(step.completed() == 9);
  CHECK(step.steps() == 2);
  CHECK(step.total_s() == Approx(3));
}

TEST_CASE("run step: one that stops completes nothing, and one that goes on elsewhere counts from there") {
  RunStep step;
  step.begin(3, {}, Clock::now());
  step.stop();
  CHECK_FALSE(step.is_under_way());
  CHECK(step.completed() == 0);
  CHECK(step.steps() == 0);
  step.go_to(5);
  CHECK(step.has_completed(4));
  CHECK_FALSE(step.has_completed(5));
  step.show(6);
  CHECK(step.number() == 6);
  CHECK_FALSE(step.is_under_way(6));
}

TEST_CASE("run step: it is finite and keeps state until something says otherwise, in each step anew") {
  RunStep step;
  for (std::uint32_t number = 0; number < 2; ++number) {
    step.begin(number, {}, Clock::now());
    CHECK(step.is_finite());
    CHECK(step.keeps());
    step.note_finite(true);
    CHECK(step.is_finite());
    step.note_finite(false);
    step.note_finite(true);
    CHECK_FALSE(step.is_finite());
    step.keep_nothing();
    CHECK_FALSE(step.keeps());
  }
}

TEST_CASE("exposed time: it adds up") {
  ExposedTime exposed;
  exposed.add(Seconds(0.5));
  exposed.add(Seconds(0.25));
  CHECK(exposed.seconds() == Approx(0.75));
}

TEST_CASE("exposed time: sums of several threads lose nothing") {
  ExposedTime exposed;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50000; ++k) exposed.add(Seconds(0.5));  // sums of halves are exact
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(exposed.seconds() == 100000);
}
