// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>

#include "casync/planner/plan_module/model_io.h"
#include "tests/casync/plan/plan_texts.h"

namespace casync {
namespace {

const std::string kLeast =
    "version: 1\nbackward_seconds: 2\nforward_seconds: 1\n"
    "gradient { name: \"w\" shape: [3, 4] ready_seconds: 2 need_seconds: 0.5 }\n"
    "gradient { name: \"b\" dtype: \"bfloat16\" ready_seconds: 1 need_seconds: 0.25 }\n";

std::string model_refusal(const std::string& text) { return parse_model(text, "m").status().message(); }

std::string with(const std::string& gradient) {
  return "version: 1\nbackward_seconds: 2\nforward_seconds: 1\ngradient { " + gradient + " }";
}

}  // namespace

TEST_CASE("model: gradients with their times, and priorities by when they are needed") {
  const Result<Training> model = parse_model(kLeast, "m");
  REQUIRE(model.status().text() == "OK");
  REQUIRE(model->gradients.size() == 2);
  const TrainedGradient &w = model->gradients[0], &b = model->gradients[1];
  CHECK(w.spec.name == "w");
  CHECK(w.spec.elements() == 12);
  CHECK(w.spec.dtype == DType::kFloat32);
  CHECK(w.spec.priority == 1);
  CHECK(w.ready_s == 2);
  CHECK(b.spec.elements() == 1);
  CHECK(b.spec.dtype == DType::kBFloat16);
  CHECK(b.spec.priority == 0);
  CHECK(b.need_s == 0.25);
  CHECK(model->backward_s == 2);
  CHECK(model->forward_s == 1);
}

TEST_CASE("model: gradients that are needed at once keep the file's order") {
  const auto priorities = [](const char* first_need, const char* second_need) {
    const Result<Training> model = parse_model(
        std::string("version: 1 backward_seconds: 0.9 forward_seconds: 0.1 gradient { name: \"a\" shape: [1] "
                    "ready_seconds: 0 need_seconds: ") +
            first_need + " } gradient { name: \"b\" shape: [1] ready_seconds: 0 need_seconds: " + second_need + " }",
        "m");
    REQUIRE(model.status().text() == "OK");
    return std::pair(model->gradients[0].spec.priority, model->gradients[1].spec.priority);
  };
  CHECK(priorities("0.052", "0.05") == std::pair(0, 1));
  CHECK(priorities("0.06", "0.0501") == std::pair(0, 1));
  CHECK(priorities("0.061", "0.05") == std::pair(1, 0));
  CHECK(priorities("0.05", "0.1") == std::pair(0, 1));
}

TEST_CASE("model: a written one reads back to the same") {
  const Training whole = *parse_model("name: \"n\" source: \"s\" " + kLeast, "m");
  const std::string text = model_text(whole);
  const Result<Training> again = parse_model(text, "again");
  REQUIRE(again.status().text() == "OK");
  CHECK(again->name == "n");
  CHECK(again->source == "s");
  CHECK(again->backward_s == whole.backward_s);
  CHECK(again->forward_s == whole.forward_s);
  REQUIRE(again->gradients.size() == 2);
  for (std::size_t g = 0; g < 2; ++g) {
    const TrainedGradient &one = again->gradients[g], &other = whole.gradients[g];
    CHECK(one.spec.name == other.spec.name);
    CHECK(one.spec.dtype == other.spec.dtype);
    CHECK(one.spec.shape == other.spec.shape);
    CHECK(one.ready_s == other.ready_s);
    CHECK(one.need_s == other.need_s);
  }
  CHECK(text.find("shape: 3 shape: 4") != std::string::npos);
}

TEST_CASE("model: a gradient of which each rank gets its own shard") {
  const std::string text = with("name: \"w\" shape: 4 ready_seconds: 0 need_seconds: 0 scattered: true");
  const Result<Training> model = parse_model(text, "m");
  REQUIRE(model.status().text() == "OK");
  CHECK(model->gradients[0].spec.scattered);
  CHECK(parse_model(model_text(*model), "again")->gradients[0].spec.scattered);
  CHECK(model_text(*parse_model(kLeast, "m")).find("scattered") == std::string::npos);
}

TEST_CASE("model: ranks that are slow, and the jitter of all") {
  const std::string text = "slow { rank: 3 factor: 1.5 } slow { rank: 0 factor: 0.5 } jitter: 0.25";
  const Result<Training> model = parse_model(kLeast + text, "m");
  REQUIRE(model.status().text() == "OK");
  CHECK(model->slowness_of(3) == 1.5);
  CHECK(model->slowness_of(0) == 0.5);
  CHECK(model->slowness_of(1) == 1);
  CHECK(model->jitter == 0.25);
  const Result<Training> again = parse_model(model_text(*model), "again");
  REQUIRE(again.status().text() == "OK");
  CHECK(again->slow.size() == 2);
  CHECK(again->slowness_of(3) == 1.5);
  CHECK(again->slowness_of(0) == 0.5);
  CHECK(again->jitter == 0.25);
}

TEST_CASE("model: each mistake is refused with its place") {
  const std::string times = " ready_seconds: 1 need_seconds: 0";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"", "m:1:1: no version, expected version: 1"},
      {"version: 1\nforward_seconds: 1", "m:1:1: no backward_seconds, expected a number"},
      {"version: 1\nforward_seconds: inf backward_seconds: 1",
       "m:2:1: forward_seconds inf, expected a finite number of at least 0"},
      {with("shape: 1" + times), "m:4:1: a gradient without a name, expected name: \"NAME\""},
      {with("name: \"w\" shape: -1" + times),
       "m:4:1: an extent of -1, expected extents from 0 and at most 2^32 elements"},
      {with("name: \"w\" shape: [65536, 65536, 2]" + times),
       "m:4:1: an extent of 2, expected extents from 0 and at most 2^32 elements"},
      {with("name: \"w\" dtype: \"int8\"" + times),
       "m:4:22: dtype \"int8\", expected \"float32\", \"float16\" or \"bfloat16\""},
      {with("name: \"w\" ready_seconds: 3 need_seconds: 0"),
       "m:4:22: ready_seconds 3, expected at most 2, the length of its pass"},
      {with("name: \"w\" ready_seconds: 1"), "m:4:1: no need_seconds, expected a number"},
      {kLeast + "gradient { name: \"w\"" + times + " }",
       "m:6:1: gradient \"w\" a second time, expected once (the first is in line 4)"},
      {kLeast + "slow { factor: 2 }", "m:6:1: no rank, expected a number"},
      {kLeast + "slow { rank: 1 }", "m:6:1: no factor, expected a number"},
      {kLeast + "slow { rank: -1 factor: 2 }", "m:6:8: rank -1, expected at least 0 and at most 65535"},
      {kLeast + "slow { rank: 1 factor: 0 }", "m:6:16: factor 0, expected a number above 0"},
      {kLeast + "slow { rank: 1 factor: 2 }\nslow { rank: 1 factor: 3 }",
       "m:7:1: slow rank 1 a second time, expected once"},
      {kLeast + "jitter: -1", "m:6:1: jitter -1, expected a finite number of at least 0"},
  };
  for (const auto& [text, message] : mistakes) {
    CAPTURE(text);
    CHECK(model_refusal(text) == message);
  }
}

TEST_CASE("model: shipped examples are read") {
  const auto models = plans_in(std::filesystem::path(CASYNC_SOURCE_DIR) / "examples/models");
  CHECK(models.size() >= 4);
  for (const auto& path : models) {
    const Result<Training> model = parse_model(text_of_file(path), path.filename().string());
    CHECK(model.status().text() == "OK");
    if (model) CHECK_FALSE(model->source.empty());
  }
}

}  // namespace casync
