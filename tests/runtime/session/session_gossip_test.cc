// SPDX-License-Identifier: Apache-2.0
//
// Gossip: what each rank's parameters become, against the weights' matrix computed here in double precision.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <latch>
#include <limits>
#include <set>
#include <thread>

#include "casync/strategies/strategy.h"
#include "tests/runtime/session/difference_gossip_cases.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/wrapped_transport.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kGossipElements = 20011;

/// The submissions and results of each rank, by step.
struct Rounds {
  std::vector<std::vector<std::vector<float>>> before, after;  // [step][rank]
  Rounds(int ranks, std::uint32_t steps)
      : before(steps, std::vector<std::vector<float>>(static_cast<std::size_t>(ranks))), after(before) {}
};

/// Each rank's parameters begin apart, move by themselves ahead of each exchange, and go on from what they got.
Body drifting(Rounds& rounds, std::uint32_t from, std::uint32_t to, SessionState* states = nullptr) {
  return [&rounds, from, to, states](Session& session, RankContext& context) -> std::string {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Result<GradientId> id = declare(session, "weight", kGossipElements);
    if (!id) return id.status().text();
    if (from > 0) {
      if (const Status loaded = session.load_state(states[rank]); !loaded) return loaded.text();
    }
    std::vector<float> values = from == 0 ? std::vector<float>(kGossipElements) : rounds.after[from - 1][rank];
    for (std::uint32_t i = from; i < to; ++i) {
      const std::vector<float> move = contribution(context.rank, kGossipElements, i);
      for (std::size_t e = 0; e < kGossipElements; ++e) values[e] += move[e];
      rounds.before[i][rank] = values;
      std::this_thread::sleep_for(std::chrono::microseconds((7 * i + 13 * rank) % 5 * 500));
      if (std::string bad = exchange(session, *id, values); !bad.empty()) return bad;
      rounds.after[i][rank] = values;
    }
    if (states == nullptr) return "";
    Result<SessionState> state = session.state();
    if (!state) return state.status().text();
    states[rank] = std::move(*state);
    return "";
  };
}

bool is_mean(const std::vector<float>& got, const std::vector<const std::vector<float>*>& of) {
  for (std::size_t e = 0; e < got.size(); ++e) {
    double mean = 0;
    for (const std::vector<float>* const one : of)
      mean += static_cast<double>((*one)[e]) / static_cast<double>(of.size());
    if (!(std::abs(got[e] - mean) <= 1e-5)) return false;
  }
  return true;
}

std::string check_ring(const Rounds& rounds) {
  for (std::size_t step = 0; step < rounds.before.size(); ++step) {
    const auto& before = rounds.before[step];
    const std::size_t ranks = before.size();
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::set<std::size_t> members = {r, (r + 1) % ranks, (r + ranks - 1) % ranks};
      std::vector<const std::vector<float>*> of;
      for (const std::size_t member : members) of.push_back(&before[member]);
      if (!is_mean(rounds.after[step][r], of)) return "step " + std::to_string(step) + ", rank " + std::to_string(r);
    }
  }
  return "";
}

/// The partner of each rank in `step`, found by its result: itself if it kept its own, -1 if nothing fits.
std::vector<int> partners(const Rounds& rounds, std::size_t step) {
  const auto& before = rounds.before[step];
  std::vector<int> found;
  for (std::size_t r = 0; r < before.size(); ++r) {
    int partner = -1;
    for (std::size_t other = 0; other < before.size(); ++other) {
      if (is_mean(rounds.after[step][r], {&before[r], &before[other]})) partner = static_cast<int>(other);
    }
    found.push_back(partner);
  }
  return found;
}

double distance_of_means(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double most = 0;
  for (std::size_t e = 0; e < kGossipElements; ++e) {
    double sum = 0;
    for (std::size_t r = 0; r < a.size(); ++r) sum += static_cast<double>(a[r][e]) - b[r][e];
    if (std::isnan(sum)) return sum;
    most = std::max(most, std::abs(sum) / static_cast<double>(a.size()));
  }
  return most;
}

}  // namespace

TEST_CASE("gossip: in a ring each rank gets the mean of its own parameters and its neighbours', and the mean stays") {
  for (const int ranks : {1, 2, 3, 4, 6}) {
    for (const char* more : {"", "default { partitions: 5 strategy: ring }"}) {
      INFO(ranks << " ranks, " << more);
      Rounds rounds(ranks, 6);
      REQUIRE(with_plan(ranks, std::string("gossip { neighbours: ring } ") + more, drifting(rounds, 0, 6)) == "");
      CHECK(check_ring(rounds) == "");
      for (std::size_t i = 0; i < 6; ++i) CHECK(distance_of_means(rounds.before[i], rounds.after[i]) < 1e-6);
      if (ranks > 3) CHECK(rounds.after[5][0] != rounds.after[5][2]);
    }
  }
}

TEST_CASE("gossip: pairs average with one rank, with another one from step to step, and the seed draws them") {
  for (const int ranks : {1, 2, 3, 4, 5, 6}) {
    std::set<std::vector<std::vector<int>>> by_seed;
    for (const int seed : {1, 2}) {
      INFO(ranks << " ranks, seed " << seed);
      Rounds rounds(ranks, 12);
      const std::string plan = "seed: " + std::to_string(seed) + " gossip { neighbours: pairs }";
      REQUIRE(with_plan(ranks, plan, drifting(rounds, 0, 12)) == "");
      std::vector<std::vector<int>> drawn;
      for (std::size_t i = 0; i < 12; ++i) {
        drawn.push_back(partners(rounds, i));
        int alone = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const int partner = drawn.back()[static_cast<std::size_t>(rank)];
          REQUIRE(partner >= 0);
          CHECK(drawn.back()[static_cast<std::size_t>(partner)] == rank);
          if (partner == rank) ++alone;
          if (partner != rank)
            CHECK(rounds.after[i][static_cast<std::size_t>(partner)] ==
                  rounds.after[i][static_cast<std::size_t>(rank)]);
        }
        CHECK(alone == ranks % 2);
        CHECK(distance_of_means(rounds.before[i], rounds.after[i]) < 1e-6);
      }
      if (ranks > 2) CHECK(std::set<std::vector<int>>(drawn.begin(), drawn.end()).size() > 1);
      by_seed.insert(drawn);
    }
    if (ranks > 2) CHECK(by_seed.size() == 2);
  }
}

TEST_CASE("gossip: over TCP the result is the same bytes as in one process") {
  for (const char* neighbours : {"ring", "pairs"}) {
    const std::string plan = std::string("gossip { neighbours: ") + neighbours + " }";
    Rounds wanted(4, 5), got(4, 5);
    REQUIRE(with_plan(4, plan, drifting(wanted, 0, 5)) == "");
    const std::string complaints = with_plan(4, plan, drifting(got, 0, 5), "ucx:tcp");
    if (lacks_ucx(complaints)) return;
    REQUIRE(complaints == "");
    CHECK(got.after == wanted.after);
  }
}

TEST_CASE("gossip: a training that is saved and goes on is one that was never interrupted") {
  for (const char* neighbours : {"ring", "pairs"}) {
    const std::string plan = std::string("seed: 9 gossip { neighbours: ") + neighbours + " }";
    Rounds through(5, 8), parts(5, 8);
    std::array<SessionState, 5> states;
    REQUIRE(with_plan(5, plan, drifting(through, 0, 8)) == "");
    REQUIRE(with_plan(5, plan, drifting(parts, 0, 3, states.data())) == "");
    REQUIRE(with_plan(5, plan, drifting(parts, 3, 8, states.data())) == "");
    CHECK(parts.after == through.after);
  }
}

TEST_CASE("gossip: a consensus gives every rank the same bytes, the exact mean, and gossip goes on after it") {
  for (const Strategy& each : strategies()) {
    const std::string strategy(each.name);
    INFO(strategy);
    std::vector<std::vector<float>> agreed(4), mixed(4), own(4);
    const std::string complaints =
        with_plan(4, std::string("gossip { neighbours: ring every: 3 } default { strategy: ") + strategy + " }",
                  [&](Session& session, RankContext& context) -> std::string {
                    const auto rank = static_cast<std::size_t>(context.rank);
                    const Result<GradientId> id = declare(session, "weight", kGossipElements);
                    if (!id) return id.status().text();
                    std::vector<float> values = contribution(context.rank, kGossipElements, 0);
                    if (!session.step()) return "step 0";
                    if (session.exchanged() != Exchanged::kNothing) return "step 1 exchanges something";
                    if (const Status begun = session.begin_consensus(); !begun) return begun.text();
                    if (session.exchanged() != Exchanged::kParameters) return "a consensus exchanges something else";
                    if (std::string bad = exchange(session, *id, values); !bad.empty()) return bad;
                    agreed[rank] = values;
                    if (session.exchanged() != Exchanged::kParameters) return "step 2 exchanges something else";
                    values = own[rank] = contribution(context.rank, kGossipElements, 1);
                    if (std::string bad = exchange(session, *id, values); !bad.empty()) return bad;
                    mixed[rank] = values;
                    return "";
                  });
    REQUIRE(complaints == "");
    const std::vector<float> wanted = average(4, kGossipElements, 0);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(agreed[rank] == agreed[0]);
      CHECK(relative_error(agreed[rank], wanted) < 1e-6);
      CHECK(is_mean(mixed[rank], {&own[rank], &own[(rank + 1) % 4], &own[(rank + 3) % 4]}));
    }
  }
}

TEST_CASE("gossip: gradients are averaged over all ranks up to from_step; then one step of each round exchanges") {
  const std::string complaints = with_plan(
      4, "gossip { neighbours: pairs every: 2 from_step: 2 }",
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 100);
        if (!id) return id.status().text();
        const Exchanged expected[] = {Exchanged::kGradients,  Exchanged::kGradients, Exchanged::kNothing,
                                      Exchanged::kParameters, Exchanged::kNothing,   Exchanged::kParameters};
        for (std::uint32_t i = 0; i < 6; ++i) {
          if (session.exchanged() != expected[i]) return "step " + std::to_string(i) + " exchanges something else";
          std::vector<float> values = contribution(context.rank, 100, i);
          const std::string bad = reduce(session, *id, values);
          const bool refused = bad.find("step " + std::to_string(i) +
                                        " exchanges nothing: by the plan's gossip ranks go "
                                        "on alone, and exchange their parameters once in 2 steps") != std::string::npos;
          if (refused != (expected[i] == Exchanged::kNothing)) return "step " + std::to_string(i) + ": " + bad;
          const double error = relative_error(values, average(4, 100, i));
          if ((error < 1e-6) != (expected[i] == Exchanged::kGradients))
            return "step " + std::to_string(i) + " averages wrong";
          if (const auto done = session.step(); !done || done->step != i) return std::string("step");
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("gossip: half precision averages in float32 and is rounded once") {
  const std::string complaints =
      with_plan(3, "gossip { neighbours: ring }", [](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = session.declare({"half", DType::kBFloat16, {3}, 0});
        if (!id) return id.status().text();
        // 1, 2 and 3; 256, 256 and 257 has no bfloat16, so 256, 256 and 258; the same of all.
        const std::uint16_t of_rank[3][3] = {
            {0x3f80, 0x4380, 0xbe80}, {0x4000, 0x4380, 0xbe80}, {0x4040, 0x4381, 0xbe80}};
        std::uint16_t values[3];
        std::copy_n(of_rank[context.rank], 3, values);
        const Submission one{*id, {reinterpret_cast<std::byte*>(values), sizeof values}};
        static_cast<void>(session.exchanged());
        if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
        if (const auto done = session.step(); !done) return done.status().text();
        if (values[0] != 0x4000 || values[1] != 0x4380 || values[2] != 0xbe80) return "wrong mean";  // 2, 256.67, -0.25
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("gossip: values that are not finite are told to the rank and its neighbours, and to nobody else") {
  const std::string complaints =
      with_plan(5, "gossip { neighbours: ring }", [](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        if (!id) return id.status().text();
        for (std::uint32_t i = 0; i < 2; ++i) {
          std::vector<float> values = contribution(context.rank, 1000, i);
          if (i == 0 && context.rank == 1) values[500] = std::numeric_limits<float>::quiet_NaN();
          const Submission one{*id, view_of(values)};
          static_cast<void>(session.exchanged());
          if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          if (done->finite != (i == 1 || context.rank > 2)) return "step " + std::to_string(i) + " says otherwise";
          if (!done->finite && done->first_non_finite != "weight") return "names " + done->first_non_finite;
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("gossip: many gradients, ranks at their own pace, and every message finds its step") {
  for (const char* neighbours : {"ring", "pairs"}) {
    INFO(neighbours);
    const std::string complaints = with_plan(
        5, std::string("gossip { neighbours: ") + neighbours + " } default { partitions: 2 }",
        [&](Session& session, RankContext& context) -> std::string {
          std::vector<GradientId> ids;
          for (int g = 0; g < 9; ++g) ids.push_back(*declare(session, "g" + std::to_string(g), 500 + g));
          std::mt19937 pauses(static_cast<unsigned>(context.rank));
          for (std::uint32_t i = 0; i < 20; ++i) {
            std::vector<std::vector<float>> values;
            for (std::size_t g = 0; g < ids.size(); ++g) {
              // Every element of a rank is the same, so the sum over ranks tells of a stranger's.
              values.emplace_back(500 + g, static_cast<float>(100 * i + 10 * g) + static_cast<float>(context.rank));
            }
            if (pauses() % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(pauses() % 8));
            static_cast<void>(session.exchanged());
            for (std::size_t g = 0; g < ids.size(); ++g) {
              const Submission one{ids[g], view_of(values[g])};
              static_cast<void>(session.exchanged());
              if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
            }
            if (const auto done = session.step(); !done) return done.status().text();
            for (std::size_t g = 0; g < ids.size(); ++g) {
              const float low = static_cast<float>(100 * i + 10 * g), mean = values[g][0];
              if (mean < low || mean > low + 4) return "step " + std::to_string(i) + " got " + std::to_string(mean);
              for (const float value : values[g]) {
                if (value != mean) return "step " + std::to_string(i) + ": elements differ";
              }
            }
          }
          return "";
        });
    CHECK(complaints == "");
  }
}

TEST_CASE("gossip: a steady step asks for no memory") {
  for (const char* text : {"gossip { neighbours: ring }", "gossip { neighbours: pairs }",
                           "gossip { neighbours: ring } default { codec { name: \"int8\" } partitions: 3 }"}) {
    INFO(text);
    const PlanFile plan(text);
    std::array<std::atomic<std::uint64_t>, 4> allocations = {};
    std::latch all_measured(4);
    const std::string complaints = with_sessions(
        4,
        [&](SessionOptions& options) {
          options.plan_file = plan.path();
          options.open_transport =
              open_wrapped({.allocations = &allocations[static_cast<std::size_t>(*options.launch.rank)]});
        },
        [&](Session& session, RankContext& context) -> std::string {
          const std::atomic<std::uint64_t>& ours = allocations[static_cast<std::size_t>(context.rank)];
          const Result<GradientId> id = declare(session, "weight", kGossipElements);
          std::vector<float> values = contribution(context.rank, kGossipElements, 0);
          std::uint64_t first = 0;
          std::string bad;
          for (int i = 0; i < 100 && bad.empty(); ++i) {
            bad = exchange(session, *id, values);
            if (i == 30) first = ours;
          }
          const std::uint64_t last = ours;
          all_measured.arrive_and_wait();  // a rank that lags by steps would hear the goodbyes of others
          if (!bad.empty()) return bad;
          return last == first ? "" : std::to_string(last - first) + " allocations";
        });
    CHECK(complaints == "");
  }
}
