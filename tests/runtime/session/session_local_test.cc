// SPDX-License-Identifier: Apache-2.0
//
// `local_sgd`: which steps exchange what, and what error feedback makes of differences.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <mutex>

#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/ways.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kLocalRanks = 3;
constexpr std::size_t kLocalElements = 20011;

}  // namespace

TEST_CASE("local SGD: every step exchanges gradients, then each H-th what parameters have become apart") {
  const auto kinds = [](const SyncMode& mode) {
    std::string all;
    for (std::uint32_t step = 0; step < 9; ++step) all += "gnd"[static_cast<int>(exchanged_in(mode, step))];
    return all;
  };
  CHECK(kinds({}) == "ggggggggg");
  CHECK(kinds({.every = 1}) == "ddddddddd");
  CHECK(kinds({.every = 4}) == "nnndnnndn");
  CHECK(kinds({.every = 3, .from_step = 2}) == "ggnndnndn");
}

TEST_CASE("local SGD: a session says what its step exchanges, and refuses gradients where that is nothing") {
  const Body body = [&](Session& session, RankContext& context) -> std::string {
    const Result<GradientId> id = declare(session, "weight", kLocalElements);
    if (!id) return id.status().text();
    const Exchanged expected[] = {Exchanged::kGradients, Exchanged::kGradients,   Exchanged::kNothing,
                                  Exchanged::kNothing,   Exchanged::kDifferences, Exchanged::kNothing};
    for (std::uint32_t i = 0; i < 6; ++i) {
      if (session.exchanged() != expected[i]) return "step " + std::to_string(i) + " exchanges something else";
      std::vector<float> values = contribution(context.rank, kLocalElements, i);
      const std::string bad = reduce(session, *id, values);
      if (expected[i] == Exchanged::kNothing) {
        if (bad.find("step " + std::to_string(i) + " exchanges nothing") == std::string::npos) return "not " + bad;
      } else if (!bad.empty()) {
        return bad;
      }
      // Gradients are not compressed until differences begin: no residual of gradients may meet them.
      const double error = relative_error(values, average(kLocalRanks, kLocalElements, i));
      if (expected[i] == Exchanged::kGradients && !(error <= 1e-6)) return std::string("a gradient was compressed");
      if (expected[i] == Exchanged::kDifferences && !(error >= 1e-3)) return std::string("a difference was not");
      if (const auto done = session.step(); !done || done->step != i) return std::string("step");
    }
    return "";
  };
  CHECK(with_plan(kLocalRanks, "local_sgd { every: 3 from_step: 2 } default { codec { name: \"int4\" } }", body) == "");
}

TEST_CASE("local SGD: applied and kept differences are together what the ranks have done") {
  std::vector<double> applied(kLocalElements, 0.0), done(kLocalElements, 0.0), kept(kLocalElements, 0.0);
  std::mutex mutex;
  const Body body = [&](Session& session, RankContext& context) -> std::string {
    const Result<GradientId> id = declare(session, "weight", kLocalElements);
    if (!id) return id.status().text();
    for (std::uint32_t i = 0; i < 8; ++i) {
      if (session.exchanged() == Exchanged::kDifferences) {
        const std::vector<float> own = contribution(context.rank, kLocalElements, i);
        std::vector<float> values = own;
        if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
        std::lock_guard lock(mutex);
        for (std::size_t e = 0; e < kLocalElements; ++e) done[e] += own[e];
        for (std::size_t e = 0; e < kLocalElements && context.rank == 0; ++e) applied[e] += values[e];
      }
      if (const auto ended = session.step(); !ended) return ended.status().text();
    }
    const Result<SessionState> state = session.state();
    if (!state) return state.status().text();
    std::lock_guard lock(mutex);
    for (std::size_t e = 0; e < kLocalElements; ++e) kept[e] += state->gradients.at("weight").residual[e];
    return "";
  };
  const std::string plan = "local_sgd { every: 2 } default { codec { name: \"int4\" } }";
  REQUIRE(with_plan(kLocalRanks, plan, body, "loopback", ReduceOp::kSum) == "");
  double error = 0, without = 0, norm = 0;
  for (std::size_t e = 0; e < kLocalElements; ++e) {
    error += std::pow(done[e] - applied[e] - kept[e], 2);
    without += std::pow(done[e] - applied[e], 2);
    norm += done[e] * done[e];
  }
  CHECK(std::sqrt(error / norm) < 1e-5);
  CHECK(std::sqrt(without / norm) > 1e-3);  // the kept part would be missed
}
