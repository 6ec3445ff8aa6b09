// SPDX-License-Identifier: Apache-2.0
//
// Steps that are not compressed ahead of those that are.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "tests/runtime/session/ways.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kWarmRanks = 3;
constexpr std::size_t kWarmElements = 70000;  // more than one partition of 64 KiB
constexpr std::uint32_t kWarmUp = 3, kSteps = 6, kMostSteps = 12;
const std::string kPlain = "warm_up_steps: 3";

struct Training {
  std::vector<float> results[kWarmRanks][kMostSteps];  ///< results of each step
  std::vector<float> kept[kWarmRanks][kMostSteps];     ///< after each step
  std::string complaints;
};

/// Steps [from, to) of gradients that depend on the step; `loaded`: what each rank begins with.
Training train(const Way& way, const std::string& codec, const std::string& warm_up, std::uint32_t from,
               std::uint32_t to, const SessionState* loaded = nullptr, SessionState* saved = nullptr,
               ReduceOp op = ReduceOp::kAverage) {
  Training training;
  const std::string more = "partition_bytes: 65536 " + warm_up;
  training.complaints =
      with_way(kWarmRanks, way, codec, more, op, [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kWarmElements);
        if (!id) return id.status().text();
        if (loaded != nullptr) {
          const Status status = session.load_state(loaded[context.rank]);
          if (!status) return status.text();
        }
        for (std::uint32_t i = from; i < to; ++i) {
          std::vector<float>& values = training.results[context.rank][i];
          values = contribution(context.rank, kWarmElements, i);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          Result<SessionState> state = session.state();
          if (!state) return state.status().text();
          training.kept[context.rank][i] = state->gradients.at("weight").residual;
          if (saved != nullptr) saved[context.rank] = std::move(*state);
        }
        return "";
      });
  return training;
}

bool all_zero(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return x == 0; });
}

}  // namespace

TEST_CASE("session warm-up: its steps give the mean and leave no residual, those after it are compressed") {
  for (const Way& way : ways_of(kWarmRanks)) {
    const Training training = train(way, named("int4"), kPlain, 0, kSteps);
    INFO(way.strategy << " " << way.nodes);
    REQUIRE(training.complaints == "");
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      INFO("step " << i);
      for (int rank = 1; rank < kWarmRanks; ++rank) REQUIRE(training.results[rank][i] == training.results[0][i]);
      const double error = relative_error(training.results[0][i], average(kWarmRanks, kWarmElements, i));
      CHECK((i < kWarmUp ? error < 1e-6 : error > 1e-3));
      bool nothing_kept = true;
      for (const auto& of_rank : training.kept) nothing_kept = nothing_kept && all_zero(of_rank[i]);
      CHECK(nothing_kept == (i < kWarmUp));
    }
  }
}

TEST_CASE("session warm-up: counts the training's steps, not the session's") {
  const Way way{"ps", ""};
  const Training through = train(way, named("int4"), kPlain, 0, kSteps);
  for (const std::uint32_t at : {2u, 3u, 4u}) {
    SessionState states[kWarmRanks];
    REQUIRE(train(way, named("int4"), kPlain, 0, at, nullptr, states).complaints == "");
    const Training resumed = train(way, named("int4"), kPlain, at, kSteps, states);
    REQUIRE(resumed.complaints == "");
    for (std::uint32_t i = at; i < kSteps; ++i) CHECK(resumed.results[0][i] == through.results[0][i]);
  }
}

TEST_CASE("session warm-up: uncompressed gradients need none") {
  const Training training = train({"ps", ""}, named("none"), kPlain, 0, kSteps);
  REQUIRE(training.complaints == "");
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    CHECK(relative_error(training.results[0][i], average(kWarmRanks, kWarmElements, i)) < 1e-6);
  }
}

TEST_CASE("session warm-up: a rank that is late is named") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1 default { codec { name: \"int8\" } warm_up_steps: 5 }\n";
  std::atomic<bool> told = false;
  const std::string complaints = with_sessions(
      2, [&](SessionOptions& options) { options.plan_file = path; },
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        if (!id) return id.status().text();
        std::vector<float> values = contribution(context.rank, 1000, 1);
        if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
        if (context.rank == 1) {
          for (int i = 0; i < 30'000 && !told; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return "";
        }
        const Submission one{*id, view_of(values)};
        const Result<std::vector<Handle>> handles = session.submit({&one, 1});
        if (!handles) return handles.status().text();
        std::string text = session.wait((*handles)[0], 0.3).text();
        told = true;
        return text;
      });
  CHECK_THAT(complaints, Catch::Matchers::Contains("nothing came from rank 1"));
}

namespace {

const std::string kTopk = "name: \"topk\" param { key: \"ratio\" value: 0.01 }";
const std::string kStages = "warm_up_steps: 8 warm_up_from { key: \"ratio\" value: 0.25 }";
// Two steps each, by the same factor from one to the next.
constexpr double kRatios[kMostSteps] = {0.25, 0.25, 0.1118, 0.1118, 0.05, 0.05, 0.0224, 0.0224, 0.01, 0.01, 0.01, 0.01};

std::size_t count_of_values(const std::vector<float>& values) {
  return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [](float x) { return x != 0; }));
}

std::string refused(const std::string& codec, const std::string& warm_up) {
  return train({"ps", ""}, codec, warm_up, 0, 1).complaints;
}

}  // namespace

TEST_CASE("session warm-up: a parameter goes to its own value in stages, and nothing is lost between them") {
  std::vector<double> given(kWarmElements, 0.0);
  for (std::uint32_t i = 0; i < kMostSteps; ++i) {
    for (int rank = 0; rank < kWarmRanks; ++rank) {
      const std::vector<float> one = contribution(rank, kWarmElements, i);
      for (std::size_t e = 0; e < kWarmElements; ++e) given[e] += one[e];
    }
  }
  for (const Way& way : ways_of(kWarmRanks)) {
    INFO(way.strategy << " " << way.nodes);
    const Training training = train(way, kTopk, kStages, 0, kMostSteps, nullptr, nullptr, ReduceOp::kSum);
    REQUIRE(training.complaints == "");
    for (std::uint32_t i = 0; i < kMostSteps; ++i) {
      INFO("step " << i);
      for (int rank = 1; rank < kWarmRanks; ++rank) REQUIRE(training.results[rank][i] == training.results[0][i]);
      const double most =
          way.strategy.ends_with("all_gather") ? kWarmRanks : 1;  // each rank, or node, has chosen its own
      const auto count = static_cast<double>(count_of_values(training.results[0][i]));
      CHECK(count >= 0.9 * kRatios[i] * kWarmElements);
      CHECK(count <= 1.1 * most * kRatios[i] * kWarmElements);
    }
    double error = 0, norm = 0;
    for (std::size_t e = 0; e < kWarmElements; ++e) {
      double left = given[e];
      for (std::uint32_t i = 0; i < kMostSteps; ++i) left -= training.results[0][i][e];
      for (const auto& of_rank : training.kept) left -= double(of_rank[kMostSteps - 1][e]);
      error += left * left;
      norm += given[e] * given[e];
    }
    CHECK(std::sqrt(error / norm) < 1e-5);
  }
}

TEST_CASE("session warm-up: stages go on from a state") {
  const Way way{"ps", ""};
  const std::string dgc = "name: \"dgc\" param { key: \"ratio\" value: 0.01 }";
  const Training through = train(way, dgc, kStages, 0, kMostSteps);
  REQUIRE(through.complaints == "");
  for (const std::uint32_t at : {2u, 5u, 8u}) {
    SessionState states[kWarmRanks];
    REQUIRE(train(way, dgc, kStages, 0, at, nullptr, states).complaints == "");
    const Training resumed = train(way, dgc, kStages, at, kMostSteps, states);
    REQUIRE(resumed.complaints == "");
    for (std::uint32_t i = at; i < kMostSteps; ++i) CHECK(resumed.results[0][i] == through.results[0][i]);
  }
}

TEST_CASE("session warm-up: stages that cannot be are refused") {
  using Catch::Matchers::Contains;
  CHECK_THAT(refused(kTopk, "warm_up_from { key: \"ratio\" value: 0.25 }"),
             Contains("warm_up_from without warm_up_steps, expected both"));
  CHECK_THAT(refused(kTopk, "warm_up_steps: 8 warm_up_from { key: \"ration\" value: 0.25 }"),
             Contains("neither codec `topk` nor `topk` on the second hop has a parameter `ration`"));
  CHECK_THAT(refused(kTopk, "warm_up_steps: 8 warm_up_from { key: \"ratio\" value: -1 }"),
             Contains("`ratio` goes from -1 to 0.01, expected both above 0"));
  CHECK_THAT(refused(kTopk, "warm_up_steps: 8 warm_up_from { key: \"ratio\" value: 2 }"),
             Contains("its warm-up steps: ") && Contains("ratio"));
  CHECK_THAT(refused(named("powersgd"), "warm_up_steps: 8 warm_up_from { key: \"rank\" value: 8 }"),
             Contains("has a parameter `rank`"));
}
