// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/choice.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "casync/planner/decide.h"
#include "casync/planner/plan_file.h"
#include "tests/support/temporary_directory.h"

namespace casync::tools {
namespace {

using Names = std::vector<std::string>;
using Catch::Matchers::Contains;

TunedWay way(const std::string& name, double step_ms, std::optional<double> steps = 1) {
  TunedWay made{name};
  made.step_ms = step_ms;
  made.steps = steps;
  return made;
}

TEST_CASE("chosen: no compression, then the plan, unless another way is more than 3 % better", "[tune]") {
  CHECK(chosen_way({way(kUncompressed, 102), way(kPlanned, 100), way("int8", 101)}, TuneGoal::kStep).name ==
        kUncompressed);
  CHECK(chosen_way({way(kUncompressed, 200), way(kPlanned, 102), way("int8", 100)}, TuneGoal::kStep).name == kPlanned);
  CHECK(chosen_way({way(kUncompressed, 200), way(kPlanned, 104), way("int8", 100)}, TuneGoal::kStep).name == "int8");
  CHECK(chosen_way({way(kUncompressed, 90), way(kPlanned, 104), way("int8", 100)}, TuneGoal::kStep).name ==
        kUncompressed);
}

TEST_CASE("chosen: with the goal loss, steps count", "[tune]") {
  const std::vector<TunedWay> ways = {way(kUncompressed, 200), way(kPlanned, 120, 1.01), way("onebit", 100, 1.3),
                                      way("int4", 90, std::nullopt)};
  CHECK(chosen_way(ways, TuneGoal::kLoss).name == kPlanned);
  CHECK(chosen_way(ways, TuneGoal::kStep).name == "int4");
}

TEST_CASE("use: a plan's path can be copied into a shell", "[tune]") {
  CHECK(use_of("tuned/plan.txtpb", "tuned/report.html") ==
        "Use it: CASYNC_PLAN=tuned/plan.txtpb. Look at it: tuned/report.html");
  CHECK_THAT(use_of("my runs/plan.txtpb", ""), Contains("CASYNC_PLAN='my runs/plan.txtpb'. "));
  CHECK_THAT(use_of("it's/$HOME", ""), Contains("CASYNC_PLAN='it'\\''s/$HOME'. "));
}

TEST_CASE("contested: ways within 15 % of the best", "[tune]") {
  const std::vector<TunedWay> ways = {way(kUncompressed, 200), way(kPlanned, 110), way("int8", 116), way("int4", 100)};
  CHECK(contested_ways(ways, TuneGoal::kStep) == Names{kPlanned, "int4"});
  CHECK(contested_ways({way(kUncompressed, 200), way(kPlanned, 100), way("int8", 116)}, TuneGoal::kStep).empty());
}

TEST_CASE("the chosen plan's file reads back, and says why it was chosen", "[tune]") {
  const std::vector<TunedWay> ways = {way(kUncompressed, 200), way(kPlanned, 110), way("int4:block=64", 100)};
  CHECK(*plan_text_of(ways, ways[1], TuneGoal::kStep, "as planned") == "as planned");

  const test::TemporaryDirectory folder;
  const std::string path = folder.path() + "/plan.txtpb";
  for (const TunedWay* chosen : {&ways[2], &ways[0]}) {
    const Result<std::string> text = plan_text_of(ways, *chosen, TuneGoal::kStep, "as planned");
    REQUIRE(text.status().is_ok());
    CHECK_THAT(*text, Contains("110.0 ms"));
    std::ofstream(path) << *text;
    const Result<Plan> plan = read_plan_file(path);
    REQUIRE(plan.status().is_ok());
    const Decision decision =
        decide(*plan, {"layer.weight", DType::kFloat32, {64, 64}}, 2, [](const CodecChoice&) { return 32; });
    CHECK(text_of(decision.codec) == (chosen == &ways[2] ? "int4:block=64" : "none"));
    CHECK(decision.second_hop == decision.codec);
  }
  CHECK_THAT(gain_of(ways, ways[2], TuneGoal::kStep),
             Contains("2.00 x") && Contains("int4:block=64 for all gradients"));
}

TEST_CASE("no gain: the sentence names the goal that no way reaches", "[tune]") {
  const std::vector<TunedWay> ways = {way(kUncompressed, 200), way(kPlanned, 198), way("onebit", 100, 2.1)};
  const TunedWay& chosen = chosen_way(ways, TuneGoal::kLoss);
  REQUIRE(chosen.name == kUncompressed);
  CHECK_THAT(gain_of(ways, chosen, TuneGoal::kLoss), Contains("does not pay") && Contains("time to the same loss"));
  CHECK_THAT(gain_of(ways, chosen, TuneGoal::kStep), Contains("does not pay") && Contains("shortens the step"));
}

}  // namespace
}  // namespace casync::tools
