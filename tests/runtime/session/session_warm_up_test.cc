// SPDX-License-Identifier: Apache-2.0
//
// Steps that are not compressed before those that are.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/runtime/session/ways.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kRanks = 3;
constexpr std::size_t kElements = 70000;  // more than one partition of 64 KiB
constexpr std::uint32_t kWarmUp = 3, kSteps = 6;

struct Training {
  std::vector<float> results[kRanks][kSteps];  ///< of each step
  std::vector<float> kept[kRanks][kSteps];     ///< after each step
  std::string complaints;
};

/// Steps [from, to) of gradients that depend on the step; `loaded`: what each rank begins with.
Training train(const Way& way, const std::string& codec, std::uint32_t warm_up, std::uint32_t from, std::uint32_t to,
               const SessionState* loaded = nullptr, SessionState* saved = nullptr) {
  Training training;
  const std::string more = "partition_bytes: 65536 warm_up_steps: " + std::to_string(warm_up);
  training.complaints = with_way(kRanks, way, named(codec), more, ReduceOp::kAverage,
                                 [&](Session& session, RankContext& context) -> std::string {
                                   const Result<GradientId> id = declare(session, "weight", kElements);
                                   if (!id) return id.status().text();
                                   if (loaded != nullptr) {
                                     const Status status = session.load_state(loaded[context.rank]);
                                     if (!status) return status.text();
                                   }
                                   for (std::uint32_t i = from; i < to; ++i) {
                                     std::vector<float>& values = training.results[context.rank][i];
                                     values = contribution(context.rank, kElements, i);
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
  for (const Way& way : ways_of(kRanks)) {
    const Training training = train(way, "int4", kWarmUp, 0, kSteps);
    INFO(way.strategy << " " << way.nodes);
    REQUIRE(training.complaints == "");
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      INFO("step " << i);
      for (int rank = 1; rank < kRanks; ++rank) REQUIRE(training.results[rank][i] == training.results[0][i]);
      const double error = relative_error(training.results[0][i], average(kRanks, kElements, i));
      CHECK((i < kWarmUp ? error < 1e-6 : error > 1e-3));
      bool nothing_kept = true;
      for (const auto& of_rank : training.kept) nothing_kept = nothing_kept && all_zero(of_rank[i]);
      CHECK(nothing_kept == (i < kWarmUp));
    }
  }
}

TEST_CASE("session warm-up: counts the training's steps, not the session's") {
  const Way way{"PS", ""};
  const Training through = train(way, "int4", kWarmUp, 0, kSteps);
  for (const std::uint32_t at : {2u, 3u, 4u}) {
    SessionState states[kRanks];
    REQUIRE(train(way, "int4", kWarmUp, 0, at, nullptr, states).complaints == "");
    const Training resumed = train(way, "int4", kWarmUp, at, kSteps, states);
    REQUIRE(resumed.complaints == "");
    for (std::uint32_t i = at; i < kSteps; ++i) CHECK(resumed.results[0][i] == through.results[0][i]);
  }
}

TEST_CASE("session warm-up: what is not compressed anyway needs none") {
  const Training training = train({"PS", ""}, "none", kWarmUp, 0, kSteps);
  REQUIRE(training.complaints == "");
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    CHECK(relative_error(training.results[0][i], average(kRanks, kElements, i)) < 1e-6);
  }
}

TEST_CASE("session warm-up: a rank that is late is named") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1 default { codec { name: \"int8\" } warm_up_steps: 5 }\n";
  const std::string complaints = with_sessions(
      2, [&](SessionOptions& options) { options.plan_file = path; },
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        if (!id) return id.status().text();
        std::vector<float> values = contribution(context.rank, 1000, 1);
        if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
        if (context.rank == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(800));
          return "";
        }
        const Submission one{*id, view_of(values)};
        const Result<std::vector<Handle>> handles = session.submit({&one, 1});
        if (!handles) return handles.status().text();
        return session.wait((*handles)[0], 0.3).text();
      });
  CHECK_THAT(complaints, Catch::Matchers::Contains("nothing came from rank 1"));
}
