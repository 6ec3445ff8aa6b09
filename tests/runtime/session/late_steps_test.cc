// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_steps.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

StepResult not_finite(const std::string& gradient) { return {0, false, gradient}; }

/// "step 3", or "step 3: weight" where that is not finite.
std::string text_of(const StepResult& result) {
  return "step " + std::to_string(result.step) + (result.finite ? "" : ": " + result.first_non_finite);
}

}  // namespace

TEST_CASE("late steps: the program is at most the staleness ahead of the reductions") {
  LateSteps steps(2);
  CHECK(steps.may_end());
  steps.end();
  CHECK(steps.may_end());
  steps.end();
  CHECK_FALSE(steps.may_end());
  CHECK(steps.number() == 2);
  steps.begin();
  CHECK(steps.begun() == 1);
  CHECK_FALSE(steps.may_end());
  steps.reduce({});
  CHECK(steps.may_end());
  CHECK(steps.has_reduced(1));
  CHECK_FALSE(steps.has_reduced(2));
  CHECK_FALSE(steps.are_all_begun());
  steps.begin();
  CHECK(steps.are_all_begun());
  CHECK_FALSE(steps.are_all_reduced());
  steps.reduce({});
  CHECK(steps.are_all_reduced());
}

TEST_CASE("late steps: a step has the result of the one so many earlier, with its own number") {
  LateSteps steps(2);
  CHECK(text_of(steps.end()) == "step 0");
  steps.reduce(not_finite("a"));
  CHECK(text_of(steps.end()) == "step 1");
  CHECK(text_of(steps.end()) == "step 2: a");
  steps.reduce({});
  CHECK(text_of(steps.end()) == "step 3");
  steps.reduce(not_finite("b"));
  CHECK(text_of(steps.end()) == "step 4: b");
}

TEST_CASE("late steps: a loaded result that is not finite is told by the step that gets it, with the first name") {
  LateSteps steps(3);
  steps.end();
  steps.reduce(not_finite("forgotten"));
  steps.go_to(7);
  CHECK(steps.number() == 7);
  CHECK(steps.are_all_reduced());
  CHECK(text_of(steps.end()) == "step 7");
  for (const char* name : {"b", "a", "c"}) steps.note_not_finite(name);
  CHECK(text_of(steps.end()) == "step 8: a");
  CHECK(text_of(steps.end()) == "step 9");
  steps.gets(0, "forgotten, too");
  steps.reduce(not_finite("b"));
  steps.note_not_finite("c");
  CHECK(text_of(steps.end()) == "step 10: b");
}

TEST_CASE(
    "late steps: a gradient that was left out may get a result of a step that was not finite, later than others") {
  LateSteps steps(1);
  steps.end();
  steps.reduce(not_finite("a"));
  CHECK(text_of(steps.end()) == "step 1: a");
  steps.reduce({});
  steps.gets(1, "b");
  CHECK(text_of(steps.end()) == "step 2");
  steps.reduce({});
  steps.gets(0, "a");
  CHECK(text_of(steps.end()) == "step 3: a");
  steps.reduce({});
  CHECK(text_of(steps.end()) == "step 4");
}
