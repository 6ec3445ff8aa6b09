// SPDX-License-Identifier: Apache-2.0
//
// Codecs that keep more than a residual: what each rank, the owner of a partition and the result keep, over many steps.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kStateRanks = 3;
constexpr std::size_t kStateElements = 1001;

/// The ranks' result after so many steps of gradients that stay the same.
std::vector<float> settled(const CodecChoice& choice, std::uint32_t steps) {
  std::vector<float> results[kStateRanks];
  const std::string complaints =
      with_sessions(kStateRanks, choose(choice), [&](Session& session, RankContext& context) {
        const Result<GradientId> id = declare(session, "weight", kStateElements);
        if (!id) return id.status().text();
        for (std::uint32_t i = 0; i < steps; ++i) {
          results[context.rank] = contribution(context.rank, kStateElements, 7);
          if (std::string bad = step(session, *id, results[context.rank]); !bad.empty()) return bad;
        }
        return std::string();
      });
  REQUIRE(complaints == "");
  for (const std::vector<float>& one : results) REQUIRE(one == results[0]);
  return results[0];
}

}  // namespace

TEST_CASE("session states: gradients that stay the same arrive whole by their differences") {
  const std::vector<float> mean = average(kStateRanks, kStateElements, 7);
  // A tenth of each rank's differences is told in a step, and a tenth of their mean.
  CHECK(relative_error(settled({"ef21", {{"ratio", 0.1}}}, 60), mean) < 1e-6);
  CHECK(relative_error(settled({"ef21", {{"ratio", 0.1}}}, 2), mean) > 0.1);
  CHECK(relative_error(settled({"diana", {{"alpha", 0.1}}}, 200), mean) < 1e-3);
  CHECK(relative_error(settled({"laq", {}}, 40), mean) < 1e-6);
  // Nothing is learnt: every step has the error of the first.
  CHECK(relative_error(settled({"diana", {{"alpha", 0}}}, 200), mean) > 0.1);
}

TEST_CASE("session states: late elements are sent, by ranks and by the owner") {
  constexpr std::uint32_t kSteps = 300;
  for (const CodecChoice& choice :
       {CodecChoice{"dgc", {{"ratio", 0.05}, {"momentum", 0}}}, CodecChoice{"adacomp", {}}}) {
    std::vector<double> applied(kStateElements, 0.0);
    std::vector<float> kept[kStateRanks];
    const std::string complaints =
        with_sessions(kStateRanks, choose(choice), [&](Session& session, RankContext& context) {
          const Result<GradientId> id = declare(session, "weight", kStateElements);
          if (!id) return id.status().text();
          for (std::uint32_t i = 0; i < kSteps; ++i) {
            std::vector<float> values = contribution(context.rank, kStateElements, i);
            if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
            for (std::size_t e = 0; e < kStateElements && context.rank == 0; ++e) applied[e] += values[e];
          }
          const Result<SessionState> state = session.state();
          if (!state) return state.status().text();
          kept[context.rank] = state->gradients.at("weight").residual;
          return std::string();
        });
    INFO(choice.name);
    REQUIRE(complaints == "");
    // dgc keeps velocity and what is unsent, for its own gradient and for the sum; adacomp what is unsent of each.
    const std::size_t arrays = kept[0].size() / kStateElements, unsent = choice.name == "dgc" ? 1 : 0;
    REQUIRE(arrays == (choice.name == "dgc" ? 4 : 2));
    std::vector<double> sums[kStateRanks];
    for (int rank = 0; rank < kStateRanks; ++rank) {
      sums[rank].assign(kStateElements, 0.0);
      for (std::uint32_t i = 0; i < kSteps; ++i) {
        const std::vector<float> one = contribution(rank, kStateElements, i);
        for (std::size_t e = 0; e < kStateElements; ++e) sums[rank][e] += one[e];
      }
    }
    double error = 0, norm = 0, without_owner = 0;
    for (std::size_t e = 0; e < kStateElements; ++e) {
      double sum = 0, left = 0, left_at_owner = 0;
      for (int rank = 0; rank < kStateRanks; ++rank) {
        sum += sums[rank][e];
        left += kept[rank][unsent * kStateElements + e];
        left_at_owner += kStateRanks * static_cast<double>(kept[rank][(arrays / 2 + unsent) * kStateElements + e]);
      }
      error += std::pow(sum - kStateRanks * applied[e] - left - left_at_owner, 2);
      without_owner += std::pow(sum - kStateRanks * applied[e] - left, 2);
      norm += sum * sum;
    }
    CHECK(std::sqrt(error / norm) < 1e-4);
    CHECK(std::sqrt(without_owner / norm) > 1e-2);  // the owner's part would be missed
  }
}

TEST_CASE("session states: a state that is saved and loaded goes on with the same bytes") {
  for (const char* name : {"dgc", "ef21", "diana", "ecqsgd", "adacomp", "laq"}) {
    std::vector<float> through[kStateRanks], resumed[kStateRanks];
    SessionState states[kStateRanks];
    const auto run = [&](std::uint32_t from, std::uint32_t to, bool load, bool save, std::vector<float>* results) {
      return with_sessions(kStateRanks, codec(name), [&](Session& session, RankContext& context) {
        const Result<GradientId> id = declare(session, "weight", kStateElements);
        if (!id) return id.status().text();
        if (load) {
          if (const Status loaded = session.load_state(states[context.rank]); !loaded) return loaded.text();
        }
        for (std::uint32_t i = from; i < to; ++i) {
          results[context.rank] = contribution(context.rank, kStateElements, i);
          if (std::string bad = step(session, *id, results[context.rank]); !bad.empty()) return bad;
        }
        if (!save) return std::string();
        Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        states[context.rank] = std::move(*state);
        return std::string();
      });
    };
    INFO(name);
    REQUIRE(run(0, 6, false, false, through) == "");
    REQUIRE(run(0, 3, false, true, resumed) == "");
    REQUIRE(run(3, 6, true, false, resumed) == "");
    for (int rank = 0; rank < kStateRanks; ++rank) CHECK(through[rank] == resumed[rank]);
  }
}

TEST_CASE("session states: a step that is not finite leaves them as they were") {
  for (const char* name : {"dgc", "ef21", "diana", "ecqsgd", "adacomp", "laq"}) {
    std::vector<float> before[kStateRanks], after[kStateRanks];
    bool finite[kStateRanks] = {true, true, true};
    const std::string complaints = with_sessions(kStateRanks, codec(name), [&](Session& session, RankContext& context) {
      const Result<GradientId> id = declare(session, "weight", kStateElements);
      if (!id) return id.status().text();
      for (std::uint32_t i = 0; i < 3; ++i) {
        std::vector<float> values = contribution(context.rank, kStateElements, i);
        if (i == 2 && context.rank == 1) values[17] = std::numeric_limits<float>::quiet_NaN();
        if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
        const Result<StepResult> done = session.step();
        if (!done) return done.status().text();
        finite[context.rank] = done->finite;
        const Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        (i == 1 ? before : after)[context.rank] = state->gradients.at("weight").residual;
      }
      return std::string();
    });
    INFO(name);
    REQUIRE(complaints == "");
    for (int rank = 0; rank < kStateRanks; ++rank) {
      CHECK_FALSE(finite[rank]);
      CHECK(before[rank] == after[rank]);
    }
  }
}

TEST_CASE("session: unbiased codecs are right on average when all ranks round, and the owner rounds their sum again") {
  constexpr std::size_t kFew = 128;
  constexpr std::uint32_t kSteps = 1500;
  for (const char* name : {"terngrad", "qsgd", "natural"}) {
    std::vector<double> sum(kFew, 0.0);
    const std::string complaints = with_sessions(2, codec(name), [&](Session& session, RankContext& context) {
      const Result<GradientId> id = declare(session, "weight", kFew);
      if (!id) return id.status().text();
      for (std::uint32_t i = 0; i < kSteps; ++i) {
        std::vector<float> values = contribution(0, kFew, 7);  // the same on both
        if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
        for (std::size_t e = 0; e < kFew && context.rank == 0; ++e) sum[e] += values[e];
      }
      return std::string();
    });
    INFO(name);
    REQUIRE(complaints == "");
    std::vector<float> mean(kFew);
    for (std::size_t e = 0; e < kFew; ++e) mean[e] = static_cast<float>(sum[e] / kSteps);
    // With the same random numbers everywhere it is 0.46 for terngrad, 0.13 for qsgd, 0.06 for natural.
    CHECK(relative_error(mean, contribution(0, kFew, 7)) < 0.05);
  }
}
