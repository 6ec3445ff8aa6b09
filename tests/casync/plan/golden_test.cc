// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "casync/planner/plan_module/plan_io.h"
#include "casync/strategies/strategy.h"
#include "tests/casync/plan/plan_texts.h"

namespace casync {
namespace {

const std::filesystem::path kFolder = CASYNC_PLAN_TESTS;
const std::string kExpect = "# expect: ";

/// "ps, ring or tree", which `{strategies}` stands for.
std::string strategy_list() {
  std::string names;
  for (const Strategy& strategy : strategies()) {
    names += (names.empty() ? "" : &strategy == &strategies().back() ? " or " : ", ") + std::string(strategy.name);
  }
  return names;
}

/// Returns the error message that the comments at the head of a refused plan expect.
std::string expected_message(const std::string& text, const std::string& source) {
  std::istringstream lines(text);
  std::string message, line;
  while (std::getline(lines, line) && line.starts_with(kExpect)) {
    message += (message.empty() ? "" : "\n") + source + ":" + line.substr(kExpect.size());
  }
  const std::string list = "{strategies}";
  for (std::size_t at; (at = message.find(list)) != std::string::npos;) {
    message.replace(at, list.size(), strategy_list());
  }
  return message;
}

}  // namespace

TEST_CASE("plan: each refused plan is refused with the mistakes written at its head") {
  const auto plans = plans_in(kFolder / "error");
  REQUIRE(plans.size() >= 20);
  for (const auto& path : plans) {
    CAPTURE(path);
    const std::string text = text_of_file(path);
    const Result<Plan> plan = parse_plan(text, path.filename().string());
    REQUIRE(!plan.is_ok());
    CHECK(plan.status().code() == StatusCode::kPlanError);
    CHECK(plan.status().message() == expected_message(text, path.filename().string()));
  }
}

TEST_CASE("plan: each good plan is read and written as the text beside it, which reads back to the same") {
  const auto plans = plans_in(kFolder / "good");
  REQUIRE(plans.size() >= 3);
  for (const auto& path : plans) {
    CAPTURE(path);
    const Result<Plan> plan = parse_plan(text_of_file(path), path.filename().string());
    REQUIRE(plan.status().text() == "OK");
    const std::string expected = text_of_file(std::filesystem::path(path).replace_extension(".expected"));
    CHECK(plan_text(*plan) == expected);
    const Result<Plan> again = parse_plan(expected, "again");
    REQUIRE(again.status().text() == "OK");
    CHECK(plan_text(*again) == expected);
  }
}

TEST_CASE("plan: the times of a prediction are read and written by their names") {
  const std::string text =
      "version: 1 predicted { decode_seconds: 0.5 encode_seconds: 3 step_seconds: 9 merge_seconds: 0.25 "
      "training_seconds: 8 }";
  const Result<Plan> plan = parse_plan(text, "plan");
  REQUIRE(plan.status().text() == "OK");
  REQUIRE(plan->predicted);
  CHECK(plan->predicted->step_s == 9);
  CHECK(plan->predicted->training_s == 8);
  CHECK(plan->predicted->encode_s == 3);
  CHECK(plan->predicted->merge_s == 0.25);
  CHECK(plan->predicted->decode_s == 0.5);
  const Result<Plan> again = parse_plan(plan_text(*plan), "again");
  REQUIRE(again.status().text() == "OK");
  CHECK(again->predicted == plan->predicted);
  CHECK_FALSE(parse_plan("version: 1 predicted { encode_seconds: 1 }", "plan"));
}

TEST_CASE("plan: a codec's file is found from the plan's folder, wherever the program runs") {
  const std::string text = "version: 1 default { codec { file: \"mine.cll\" } second_hop { file: \"/far/off.cll\" } }";
  const Result<Plan> plan = parse_plan(text, "/plans/of/ours/plan.txtpb");
  REQUIRE(plan.status().text() == "OK");
  CHECK(plan->defaults.codec->name == "/plans/of/ours/mine.cll");
  CHECK(plan->defaults.second_hop->name == "/far/off.cll");
  CHECK(parse_plan(text, "../plan.txtpb")->defaults.codec->name == "../mine.cll");
  CHECK(parse_plan(text, "plan.txtpb")->defaults.codec->name == "./mine.cll");
}

}  // namespace casync
