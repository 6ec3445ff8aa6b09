// SPDX-License-Identifier: Apache-2.0
//
// Residual memory that a plan chooses: two buffers, one that a step changes in place, or two of bfloat16.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/device/host/host_device.h"
#include "runtime/executor/run_states.h"
#include "runtime/session/declarations.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/ways.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kRanks = 3;
constexpr std::size_t kLarge = 9001, kSmall = 500;  // more than kAlwaysTwoBuffers, and less
constexpr std::uint32_t kSteps = 4;
const std::string kOne = "residual_memory: one_buffer ", kHalf = "residual_memory: bfloat16 ";
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string plan_of(const std::string& codec, const std::string& more) {
  return "default { codec { name: \"" + codec + "\" } partitions: 3 " + more + "}";
}

struct Training {
  std::vector<float> results[kRanks][kSteps];
  SessionState states[kRanks][kSteps];  ///< after each step
  bool finite[kRanks][kSteps] = {};
  std::string complaints;
};

/// Steps [from, kSteps) of a large gradient and a small one; in step `infinite` rank 1's large one is not finite.
Training train(const std::string& plan, std::uint32_t infinite = kSteps, std::uint32_t from = 0,
               const SessionState* loaded = nullptr) {
  Training training;
  training.complaints = with_plan(kRanks, plan, [&](Session& session, RankContext& context) -> std::string {
    const Result<GradientId> large = declare(session, "large", kLarge), small = declare(session, "small", kSmall);
    if (!large || !small) return large.status().text() + small.status().text();
    if (loaded != nullptr) {
      if (const Status status = session.load_state(loaded[context.rank]); !status) return status.text();
    }
    for (std::uint32_t i = from; i < kSteps; ++i) {
      std::vector<float>& values = training.results[context.rank][i];
      values = contribution(context.rank, kLarge, i);
      if (i == infinite && context.rank == 1) values[4000] = kInfinity;
      std::vector<float> others = contribution(context.rank, kSmall, 100 + i);
      if (std::string bad = reduce(session, *large, values); !bad.empty()) return bad;
      if (std::string bad = reduce(session, *small, others); !bad.empty()) return bad;
      const Result<StepResult> done = session.step();
      if (!done) return done.status().text();
      training.finite[context.rank][i] = done->finite;
      Result<SessionState> state = session.state();
      if (!state) return state.status().text();
      training.states[context.rank][i] = std::move(*state);
    }
    return "";
  });
  return training;
}

const std::vector<float>& kept(const Training& training, int rank, std::uint32_t step, const char* gradient) {
  return training.states[rank][step].gradients.at(gradient).residual;
}

const std::vector<float>& residual_of(const SessionState& state) { return state.gradients.at("large").residual; }

bool all_zero(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return x == 0; });
}

/// The status of declaring the large gradient by this plan.
std::string declared(const std::string& plan, std::vector<std::int64_t> shape = {static_cast<std::int64_t>(kLarge)}) {
  return with_plan(1, plan, [&](Session& session, RankContext&) {
    const Result<GradientId> id = session.declare({"weight", DType::kFloat32, shape, 0});
    return id ? std::string() : id.status().text();
  });
}

void check_same(const Training& a, const Training& b, std::uint32_t from = 0) {
  for (int rank = 0; rank < kRanks; ++rank) {
    for (std::uint32_t i = from; i < kSteps; ++i) {
      CHECK(a.results[rank][i] == b.results[rank][i]);
      CHECK(kept(a, rank, i, "large") == kept(b, rank, i, "large"));
      CHECK(kept(a, rank, i, "small") == kept(b, rank, i, "small"));
    }
  }
}

}  // namespace

TEST_CASE("session residual memory: one buffer has the bytes of two") {
  for (const char* more : {"", "strategy: ring ", "strategy: tree ", "servers: 1 ", "second_hop { name: \"none\" } ",
                           "warm_up_steps: 2 "}) {
    INFO(more);
    const Training two = train(plan_of("int4", more)), one = train(plan_of("int4", more + kOne));
    CHECK(two.complaints == "");
    CHECK(one.complaints == "");
    check_same(one, two);
    CHECK_FALSE(all_zero(kept(one, 0, kSteps - 1, "large")));
  }
  const std::string stages = "warm_up_steps: 4 warm_up_from { key: \"ratio\" value: 0.5 } ";
  check_same(train(plan_of("topk", stages + kOne)), train(plan_of("topk", stages)));
  for (const char* mode : {"asynchronous { bound: 0 first: 3 } ", "staleness: 1 "}) {
    INFO(mode);
    const auto results = [&](const std::string& more) {
      std::vector<std::vector<float>> all(kRanks);
      CHECK(with_plan(kRanks, mode + plan_of("int4", more), [&](Session& session, RankContext& context) -> std::string {
              const Result<GradientId> id = declare(session, "large", kLarge);
              if (!id) return id.status().text();
              for (std::uint32_t i = 0; i < kSteps; ++i) {
                std::vector<float> values = contribution(context.rank, kLarge, i);
                if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
                all[static_cast<std::size_t>(context.rank)].insert(all[static_cast<std::size_t>(context.rank)].end(),
                                                                   values.begin(), values.end());
              }
              return "";
            }) == "");
      return all;
    };
    CHECK(results(kOne) == results(""));
  }
}

TEST_CASE("session residual memory: one buffer and bfloat16 take half of the memory, but for small gradients") {
  const Topology topology{2, {0, 0}};
  Plan plan;
  plan.defaults.codec = CodecChoice{"int8", {}};
  const auto bytes = [&](std::size_t elements, ResidualMemory memory) {
    plan.defaults.residual_memory = memory;
    const GradientSpec spec{"weight", DType::kFloat32, {static_cast<std::int64_t>(elements)}, 0};
    const Result<Declared> declared = declare_gradient(plan, spec, topology);
    REQUIRE(declared.status().text() == "OK");
    std::vector<std::unique_ptr<GradientRun>> runs;
    Result<std::unique_ptr<GradientRun>> made = make_run(*declared, topology, 0, 0);
    REQUIRE(made.status().text() == "OK");
    runs.push_back(std::move(*made));
    const std::unique_ptr<Device> device = make_host_device();
    REQUIRE(allocate_kept(runs, *device).text() == "OK");
    const KeptState::Slices kept = runs[0]->kept.from(0);
    return (kept.in.address() == kept.out.address() ? kept.in.size() : kept.in.size() + kept.out.size()) / elements;
  };
  CHECK(bytes(kLarge, ResidualMemory::kTwoBuffers) == 8);
  CHECK(bytes(kLarge, ResidualMemory::kOneBuffer) == 4);
  CHECK(bytes(kLarge, ResidualMemory::kBFloat16) == 4);
  CHECK(bytes(kSmall, ResidualMemory::kOneBuffer) == 8);
  CHECK(bytes(kSmall, ResidualMemory::kBFloat16) == 8);
}

TEST_CASE("session residual memory: after a step that is not finite one buffer begins anew, on all ranks") {
  constexpr std::uint32_t kInfinite = 2;
  for (const char* codec : {"int4", "topk", "diana", "adacomp"}) {
    INFO(codec);
    const Training one = train(plan_of(codec, kOne), kInfinite), two = train(plan_of(codec, ""), kInfinite);
    REQUIRE(one.complaints == "");
    REQUIRE(two.complaints == "");
    for (int rank = 0; rank < kRanks; ++rank) {
      CHECK_FALSE(one.finite[rank][kInfinite]);
      CHECK(one.finite[rank][kInfinite + 1]);
      CHECK_FALSE(all_zero(kept(one, rank, kInfinite - 1, "large")));
      CHECK(all_zero(kept(one, rank, kInfinite, "large")));
      CHECK(kept(one, rank, kInfinite, "small") == kept(one, rank, kInfinite - 1, "small"));
      CHECK(kept(two, rank, kInfinite, "large") == kept(two, rank, kInfinite - 1, "large"));
      CHECK(one.results[rank][kSteps - 1] == one.results[0][kSteps - 1]);
      for (const float value : kept(one, rank, kSteps - 1, "large")) REQUIRE(std::isfinite(value));
    }
  }
}

TEST_CASE("session residual memory: steps of warm-up that are not finite leave a residual, which they do not touch") {
  const std::string one_bit = plan_of("int4", kOne + "warm_up_steps: 4 ");
  const Training before = train(plan_of("int4", kOne), kSteps);
  SessionState states[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) states[rank] = before.states[rank][0];
  const Training warm = train(one_bit, 2, 1, states);
  REQUIRE(warm.complaints == "");
  for (int rank = 0; rank < kRanks; ++rank) {
    CHECK_FALSE(warm.finite[rank][2]);
    CHECK(kept(warm, rank, 2, "large") == kept(before, rank, 0, "large"));
  }
}

TEST_CASE("session residual memory: a state of one buffer goes on in two, and the reverse") {
  const std::string two = plan_of("int4", ""), one = plan_of("int4", kOne);
  const Training whole = train(two);
  for (const auto& [first, then] : {std::pair(two, one), std::pair(one, two), std::pair(one, one)}) {
    const Training begun = train(first);
    SessionState states[kRanks];
    for (int rank = 0; rank < kRanks; ++rank) states[rank] = begun.states[rank][1];
    const Training resumed = train(then, kSteps, 2, states);
    CHECK(resumed.complaints == "");
    check_same(resumed, whole, 2);
  }
}

TEST_CASE("session residual memory: in bfloat16 nothing is lost on average of what is small compared with a residual") {
  // One element in a thousand is sent in a step, so that residuals grow to a thousand gradients. Rounded to the nearest
  // they would stop at 256, where the next bfloat16 is 2 further on.
  constexpr std::uint32_t kLong = 1200;
  std::vector<double> applied(kLarge, 0.0);
  std::vector<float> left;
  const std::string plan = "default { codec { name: \"topk\" param { key: \"ratio\" value: 0.001 } } " + kHalf + "}";
  CHECK(with_plan(1, plan, [&](Session& session, RankContext&) -> std::string {
          const Result<GradientId> id = declare(session, "large", kLarge);
          if (!id) return id.status().text();
          for (std::uint32_t i = 0; i < kLong; ++i) {
            std::vector<float> values(kLarge, 1.0f);
            if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
            for (std::size_t e = 0; e < kLarge; ++e) applied[e] += values[e];
          }
          const Result<SessionState> state = session.state();
          if (!state) return state.status().text();
          left = residual_of(*state);
          return "";
        }) == "");
  double all = 0;
  for (std::size_t e = 0; e < kLarge; ++e) all += applied[e] + static_cast<double>(left[e]);
  CHECK(all / (kLong * static_cast<double>(kLarge)) == Approx(1).margin(0.002));
}

TEST_CASE("session residual memory: in bfloat16 a step that is not finite leaves residuals, and states go on") {
  const std::string plan = plan_of("int4", kHalf);
  const Training whole = train(plan), exact = train(plan_of("int4", ""));
  const Training skipped = train(plan, 2);
  REQUIRE(whole.complaints == "");
  SessionState states[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) states[rank] = whole.states[rank][1];
  check_same(train(plan, kSteps, 2, states), whole, 2);
  for (int rank = 0; rank < kRanks; ++rank) {
    CHECK_FALSE(skipped.finite[rank][2]);
    CHECK(kept(skipped, rank, 2, "large") == kept(skipped, rank, 1, "large"));
    CHECK(whole.results[rank][kSteps - 1] == whole.results[0][kSteps - 1]);
    const double error = relative_error(kept(whole, rank, 0, "large"), kept(exact, rank, 0, "large"));
    CHECK(error > 1e-4);  // rounded
    CHECK(error < 8e-3);
    CHECK(kept(whole, rank, 0, "small") == kept(exact, rank, 0, "small"));
  }
}

TEST_CASE("session residual memory: one buffer has no state within a step") {
  for (const bool one : {true, false}) {
    const std::string complaints =
        with_plan(2, plan_of("int4", one ? kOne : ""), [&](Session& session, RankContext& context) -> std::string {
          const Result<GradientId> id = declare(session, "large", kLarge);
          if (!id) return id.status().text();
          std::vector<float> values = contribution(context.rank, kLarge, 1);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          const Result<SessionState> before = session.state();
          values = contribution(context.rank, kLarge, 2);
          if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
          const Result<SessionState> within = session.state();
          const std::string wanted =
              "gradient large keeps its residual in one buffer, which step 1 has changed: end the step, then take the "
              "state";
          if (one && (within || within.status().message() != wanted)) return "within: " + within.status().text();
          if (!one && (!within || residual_of(*within) != residual_of(*before))) return "within: not the last step's";
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
          return session.state().status().is_ok() ? "" : session.state().status().text();
        });
    CHECK(complaints == "");
  }
}

TEST_CASE("session residual memory: wrong choices are refused with the gradient, and with right ones") {
  const std::string use = "; give its gradients two_buffers";
  CHECK_THAT(declared(plan_of("dgc", kOne)),
             Catch::Contains("gradient weight: residual_memory one_buffer: codec `dgc` keeps 2 values of each element, "
                             "and one buffer is for codecs that keep one" +
                             use));
  CHECK_THAT(declared(plan_of("int8", "second_hop { name: \"laq\" } " + kOne)), Catch::Contains("codec `laq` keeps 2"));
  CHECK_THAT(
      declared(plan_of("powersgd", kOne), {100, 90}),
      Catch::Contains("gradient weight: residual_memory one_buffer: codec `powersgd` exchanges within a step, and "
                      "its last turn reads what the last step kept" +
                      use));
  CHECK(declared(plan_of("powersgd", kOne)) == "");  // a vector is sent as it is
  CHECK(declared(plan_of("none", kOne)) == "");
  CHECK_THAT(declared(plan_of("diana", kHalf)),
             Catch::Contains("residual_memory bfloat16: codec `diana` keeps a state of its own, and only residuals are "
                             "rounded; give its gradients two_buffers or, where that is allowed, one_buffer"));
  CHECK_THAT(declared(plan_of("powersgd", kHalf), {100, 90}), Catch::Contains("codec `powersgd` exchanges within a"));
  CHECK(declared(plan_of("none", kHalf)) == "");
  CHECK_THAT(declared("gossip { neighbours: ring } default { codec { name: \"int8\" } " + kOne + "}"),
             Catch::Contains("residual_memory one_buffer: gossip with codecs keeps copies of the neighbours'"));
}
