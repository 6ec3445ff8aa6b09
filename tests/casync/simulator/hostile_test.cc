// SPDX-License-Identifier: Apache-2.0
//
// A hostile file is refused, or simulated to an end.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "casync/planner/plan_module/model_io.h"
#include "casync/planner/plan_module/profile_io.h"
#include "casync/simulator/simulate.h"

namespace casync {
namespace {

const std::string kProfile =
    "version: 1 memory_bytes_per_second: 1e9 launch_seconds: 1e-6 contention: 1.1 node_shares_port: true task_seconds: "
    "1e-6 contended { encode: 2 } "
    "between { incast { peers: 2 slowdown: 1.5 } outcast { peers: 2 slowdown: 1.2 } latency_seconds: 1e-5 "
    "bytes_per_second: 1.25e9 announced_bytes: 131072 } inside { latency_seconds: 1e-6 message_seconds: 2e-6 "
    "point { size: 0 seconds: 1e-7 } point { size: 9 seconds: 1e-6 } } codec { name: \"int8\" encode { point { size: "
    "100 seconds: 0.001 } } merge { point { size: 0 seconds: 0 } point { size: 1 seconds: 1e-9 } } }";
const std::string kModel =
    "version: 1 backward_seconds: 2 forward_seconds: 1 gradient { name: \"w\" shape: 30 shape: 40 ready_seconds: 2 "
    "need_seconds: 0.5 } gradient { name: \"b\" dtype: \"float16\" ready_seconds: 1 need_seconds: 0.25 }";

/// One to three bytes changed, taken away, or brought from elsewhere in the text.
std::string mutated(std::string text, std::mt19937& random) {
  const std::string bytes = "0123456789.e-+{}[]:\"x \n\xff";
  for (std::uint32_t left = 1 + random() % 3; left > 0 && !text.empty(); --left) {
    const std::size_t at = random() % text.size(), length = random() % 12;
    switch (random() % 4) {
      case 0: text[at] = bytes[random() % bytes.size()]; break;
      case 1: text.insert(at, 1, bytes[random() % bytes.size()]); break;
      case 2: text.erase(at, length); break;
      default: text.insert(at, text.substr(random() % text.size(), length));
    }
  }
  return text;
}

Result<CodecFacts> facts_of(const CodecChoice& choice) {
  return CodecFacts{choice.name, {.exact_merge = true, .bits_per_element = 8.5}, false, 8};
}

}  // namespace

TEST_CASE("files: mutated profiles and models are refused in their own name, or simulated to an end") {
  std::mt19937 random(7);
  std::size_t refused = 0, simulated = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string text = random() % 8 == 0 ? kProfile : mutated(kProfile, random);
    const std::string other = random() % 8 == 0 ? kModel : mutated(kModel, random);
    CAPTURE(text, other);
    const Result<Profile> profile = parse_profile(text, "p");
    const Result<Training> training = parse_model(other, "m");
    if (!profile) CHECK(profile.status().message().starts_with("p:"));
    if (!training) CHECK(training.status().message().starts_with("m:"));
    refused += !profile || !training ? 1 : 0;
    if (!profile || !training) continue;
    Scenario scenario;
    scenario.topology = {3, {0, 0, 1}};
    scenario.profile = *profile;
    scenario.training = *training;
    scenario.facts_of = facts_of;
    for (std::size_t g = 0; g < training->gradients.size(); ++g) {
      scenario.decisions.push_back({{"int8", {}}, {"int8", {}}, StrategyKind::kPs, 2, 0});
    }
    const Result<Simulation> result = simulate(scenario, {});
    REQUIRE(result.status().text() == "OK");
    CHECK(std::isfinite(result->step_s));
    CHECK(result->step_s >= training->backward_s + training->forward_s - 1e-9 * training->backward_s);
    ++simulated;
  }
  CHECK(refused > 500);
  CHECK(simulated > 50);
}

TEST_CASE("files: random bytes are refused as text without control characters") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string junk(1 + random() % 400, '\0');
    for (char& byte : junk) byte = static_cast<char>(random());
    for (const Status& status : {parse_profile(junk, "f").status(), parse_model(junk, "f").status()}) {
      CHECK(status.code() == StatusCode::kPlanError);
      const auto control = [](char c) { return c != '\n' && (c < 0x20 || c == 0x7f); };
      CHECK(std::none_of(status.message().begin(), status.message().end(), control));
    }
  }
}

TEST_CASE("files: 100000 points are read in one walk through them, as many mistakes too") {
  std::string points, wrong;
  for (int i = 0; i < 100000; ++i) {
    points += "point { size: " + std::to_string(i) + " seconds: " + std::to_string(i) + " }\n";
    wrong += "point { size: 1 seconds: -1 }\n";
  }
  const std::string head = "version: 1 memory_bytes_per_second: 1e9 between {\n";
  CHECK(parse_profile(head + points + "}", "f").is_ok());
  CHECK(parse_profile(head + wrong + "}", "f").status().code() == StatusCode::kPlanError);
}

}  // namespace casync
