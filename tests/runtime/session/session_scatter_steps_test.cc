// SPDX-License-Identifier: Apache-2.0
//
// Gradients that are reduced and scattered, from step to step: what is kept, and what is refused.
#include <catch2/catch.hpp>
#include <limits>

#include "tests/runtime/session/scattered_jobs.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

/// The status of a rank that declares so many scattered elements by this plan in a job of two.
std::string refusal(const std::string& plan, std::size_t elements = 1024) {
  std::string said;
  const std::string complaints = with_plan(2, plan, [&](Session& session, RankContext& context) {
    const std::string text = declare_scattered(session, "weight", elements).status().text();
    if (context.rank == 0) said = text;
    return std::string();
  });
  return complaints + said;
}

}  // namespace

TEST_CASE("session scatter: all ranks learn that a gradient was not finite, and keep what they had not sent") {
  for (const char* codec : {"none", "int4", "onebit", "topk", "dgc"}) {
    for (const int ranks : {1, 2, 3}) {
      for (int loud = 0; loud < ranks; ++loud) {
        for (int shard = 0; shard < ranks; ++shard) {
          INFO(codec << ", ranks " << ranks << ", rank " << loud << ", shard " << shard);
          CHECK(with_plan(ranks, plan_of(ranks, named(codec)),
                          [&](Session& session, RankContext& context) -> std::string {
                            const Result<GradientId> id = declare_scattered(session, "weight", elements_of(ranks));
                            if (!id) return id.status().text();
                            std::vector<float> values = contribution(context.rank, elements_of(ranks), 1);
                            if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
                            const Result<SessionState> before = session.state();
                            values = contribution(context.rank, elements_of(ranks), 2);
                            const std::size_t at = static_cast<std::size_t>(shard) * kShard + kShard - 1;
                            if (context.rank == loud) values[at] = std::numeric_limits<float>::infinity();
                            if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
                            const Result<StepResult> done = session.step();
                            if (!done) return done.status().text();
                            if (done->finite || done->first_non_finite != "weight") return "it is finite here";
                            const Result<SessionState> after = session.state();
                            if (!before || !after) return "no state";
                            if (after->gradients.at("weight").residual != before->gradients.at("weight").residual) {
                              return "its residual has changed";
                            }
                            values = contribution(context.rank, elements_of(ranks), 3);
                            if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
                            const Result<StepResult> next = session.step();
                            return next && next->finite ? "" : "the next step is not finite";
                          }) == "");
        }
      }
    }
  }
}

TEST_CASE("session scatter: warm-up steps are exact, and what is kept in one buffer or in bfloat16 works") {
  constexpr int kRanks = 3;
  Memories memories;
  REQUIRE(train(kRanks, plan_of(kRanks, named("int4"), "warm_up_steps: 2"), 3, another, memories) == "");
  for (std::uint32_t number = 0; number < 3; ++number) {
    std::vector<float> result;
    REQUIRE(gathered(memories, number, another(number), result) == "");
    CHECK((result == average(kRanks, elements_of(kRanks), another(number))) == (number < 2));
  }
  Memories two, one, narrow;
  REQUIRE(train(kRanks, plan_of(kRanks, named("int4")), 4, another, two) == "");
  REQUIRE(train(kRanks, plan_of(kRanks, named("int4"), "residual_memory: one_buffer"), 4, another, one) == "");
  CHECK(one == two);
  REQUIRE(train(kRanks, plan_of(kRanks, named("int4"), "residual_memory: bfloat16"), 4, another, narrow) == "");
  std::vector<float> result;
  REQUIRE(gathered(narrow, 3, another(3), result) == "");
  CHECK(relative_error(result, average(kRanks, elements_of(kRanks), another(3))) < 0.2);
}

TEST_CASE("session scatter: from a state a run goes on byte for byte, and only as a scattered gradient") {
  constexpr int kRanks = 3;
  const std::string plan = plan_of(kRanks, named("int4"));
  Memories whole;
  REQUIRE(train(kRanks, plan, 4, another, whole) == "");
  std::vector<SessionState> states(kRanks);
  REQUIRE(with_plan(kRanks, plan, [&](Session& session, RankContext& context) -> std::string {
            const Result<GradientId> id = declare_scattered(session, "weight", elements_of(kRanks));
            for (std::uint32_t number = 0; number < 2; ++number) {
              std::vector<float> values = contribution(context.rank, elements_of(kRanks), another(number));
              if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
            }
            Result<SessionState> state = session.state();
            if (!state) return state.status().text();
            const GradientState& kept = state->gradients.at("weight");
            if (!kept.owned.empty() || !kept.is_residual) return "it owns sums";
            states[static_cast<std::size_t>(context.rank)] = std::move(*state);
            return "";
          }) == "");
  REQUIRE(with_plan(kRanks, plan, [&](Session& session, RankContext& context) -> std::string {
            const auto rank = static_cast<std::size_t>(context.rank);
            const Result<GradientId> id = declare_scattered(session, "weight", elements_of(kRanks));
            if (const Status loaded = session.load_state(states[rank]); !loaded) return loaded.text();
            for (std::uint32_t number = 2; number < 4; ++number) {
              std::vector<float> values = contribution(context.rank, elements_of(kRanks), another(number));
              if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
              if (values != whole[rank][number]) return "other bytes in step " + std::to_string(number);
            }
            return "";
          }) == "");
  const std::string other = with_plan(1, plan_of(1, named("int4")), [&](Session& session, RankContext&) -> std::string {
    const Result<GradientId> id = declare(session, "weight", elements_of(1));
    std::vector<float> values = contribution(0, elements_of(1), 1);
    if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
    SessionState state{1, 1, 0, {}};
    state.gradients["weight"] = {
        "int4:block=128 / int4:block=128, ps, 2 partitions, scattered", std::vector<float>(elements_of(1)), {}, true};
    return session.load_state(state).message();
  });
  CHECK(other.find(", scattered, here it is") != std::string::npos);
}

TEST_CASE("session scatter: refusals name the gradient and what it cannot be") {
  using Catch::Matchers::Contains;
  const std::string none = "default { codec { name: \"none\" } }";
  CHECK_THAT(refusal(none, 1023),
             Contains("gradient weight: 1023 elements are not 2 equal shards, one for each rank: pad them to 1024"));
  CHECK_THAT(refusal("gossip { neighbours: ring } " + none), Contains("gradient weight: gossip averages"));
  CHECK_THAT(refusal("local_sgd { every: 2 } " + none), Contains("gradient weight: local_sgd exchanges differences"));
  CHECK_THAT(refusal("staleness: 1 " + none), Contains("gradient weight: staleness keeps"));
  CHECK_THAT(refusal("asynchronous { } " + none), Contains("gradient weight: asynchronous owners"));
  CHECK_THAT(refusal("default { codec { name: \"terngrad_shared\" } }", 1 << 20),
             Contains("gradient weight: codec `terngrad_shared` has exchanges within a step"));
  CHECK_THAT(refusal("default { codec { name: \"none\" } servers: 1 dedicated: true }"),
             Contains("gradient weight: 1 dedicated server would own no shard"));
  CHECK_THAT(refusal("group { name: \"all\" gradient: [\"weight\", \"bias\"] } " + none),
             Contains("gradient weight: the plan sends it in group all"));
}

TEST_CASE("session scatter: a rank that declares it for all ranks ends the job, with both declarations") {
  const std::string complaints =
      with_plan(2, "default { codec { name: \"none\" } }", [](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id =
            context.rank == 0 ? declare_scattered(session, "weight", 64) : declare(session, "weight", 64);
        std::vector<float> values(64, 1.0F);
        return step(session, *id, values);
      });
  CHECK_THAT(complaints, Catch::Contains("gradient weight") && Catch::Contains("scattered"));
  CHECK(with_plan(1, "default { codec { name: \"none\" } }", [](Session& session, RankContext&) {
          static_cast<void>(declare(session, "weight", 64));
          return declare_scattered(session, "weight", 64).is_ok() ? "declared twice" : "";
        }) == "");
}
