// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <random>

#include "casync/planner/plan_module/plan_io.h"

namespace casync {
namespace {

std::string repeated(const std::string& unit, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += unit;
  return text;
}

Status refusal(const std::string& text) { return parse_plan(text, "p").status(); }

}  // namespace

TEST_CASE("plan: 200000 levels of nesting are refused and do not end the process") {
  for (const char* unit : {"rule {", "default { codec {", "a {", "a <", "a: [", "a: { b: [", "[a.b] {"}) {
    CAPTURE(unit);
    const Status status = refusal("version: 1\n" + repeated(unit, 200000));
    CHECK(status.code() == StatusCode::kPlanError);
    CHECK(status.message().starts_with("p:2:"));
  }
  const std::string message = refusal("version: 1 " + repeated("world {", 200000)).message();
  CHECK(message.find("nested too deep, expected at most 64 levels") != std::string::npos);
}

TEST_CASE("plan: 16 MiB are read, a byte more is refused with both sizes") {
  const std::string plan = "version: 1\n";
  std::string text = plan + "#" + std::string(16_MiB - plan.size() - 1, 'x');
  REQUIRE(text.size() == 16_MiB);
  CHECK(refusal(text).text() == "OK");
  text += "x";
  CHECK(refusal(text).text() == "PlanError: p:1:1: 16777217 bytes, expected at most 16777216");
}

TEST_CASE("plan: 2 MiB of mistakes cost no more than 2 MiB of plan, not a walk through the text for each") {
  for (const char* unit : {"\x01\n", "x:1\n", "rule{}\n", "gradient{}", "a[", "version: 1\n", "\"\n"}) {
    CAPTURE(unit);
    const int times = static_cast<int>(2_MiB / std::string(unit).size());
    CHECK(refusal(repeated(unit, times)).code() == StatusCode::kPlanError);
  }
}

TEST_CASE("plan: 100000 entries on one line are read in one walk through it") {
  std::string text = "version: 1 ";
  for (int i = 0; i < 100000; ++i) text += "gradient{name:\"g" + std::to_string(i) + "\" strategy:ps}";
  const Result<Plan> plan = parse_plan(text, "p");
  REQUIRE(plan.status().text() == "OK");
  CHECK(plan->gradients.size() == 100000);
}

TEST_CASE("plan: no more than 20 mistakes are listed, and how many more there are") {
  const std::string message = refusal("version: 1\n" + repeated("x: 1\n", 30)).message();
  CHECK(std::count(message.begin(), message.end(), '\n') == 20);
  CHECK(message.find("p:21:1: ") != std::string::npos);
  CHECK(message.find("p:22:1: ") == std::string::npos);
  CHECK(message.ends_with("\nand 10 more"));
}

TEST_CASE("plan: random bytes are refused as text without control characters") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string junk(1 + random() % 400, '\0');
    for (char& byte : junk) byte = static_cast<char>(random());
    const Status status = refusal(junk);
    CHECK(status.code() == StatusCode::kPlanError);
    CHECK(status.message().starts_with("p:"));
    const auto control = [](char c) { return c != '\n' && (c < 0x20 || c == 0x7f); };
    CHECK(std::none_of(status.message().begin(), status.message().end(), control));
  }
}

TEST_CASE("plan: a good plan with any one byte changed is read or refused, never a crash") {
  const std::string good =
      "version: 1 world { ranks: 4 } default { codec { name: \"int8\" param { key: \"block\" value: 64 } } strategy: "
      "PS }"
      "rule { match: \"*.bias\" partitions: 2 } gradient { name: \"fc\" priority: -1 } fusion_bytes: 9 seed: 3";
  REQUIRE(refusal(good).is_ok());
  std::size_t refused = 0;
  for (std::size_t place = 0; place < good.size(); ++place) {
    for (char byte : {'\0', '}', '"', '9', '\xff', '\n'}) {
      std::string text = good;
      text[place] = byte;
      const Status status = refusal(text);
      refused += status.is_ok() ? 0 : 1;
      if (!status) CHECK(status.message().starts_with("p:"));
    }
  }
  CHECK(refused > good.size());
}

}  // namespace casync
