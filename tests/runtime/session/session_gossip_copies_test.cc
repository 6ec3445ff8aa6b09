// SPDX-License-Identifier: Apache-2.0
//
// The copies of gossip with codecs that lose: in states, after a consensus, with parameters that are not finite; and
// what is refused.
#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <thread>

#include "casync/strategies/strategy.h"
#include "runtime/session/difference_gossip.h"
#include "tests/runtime/session/difference_gossip_cases.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

/// The copies that a state has, by rank.
std::map<std::size_t, Floats> copies_in(const SessionState& state, std::size_t ranks, std::size_t elements) {
  const Floats& kept = state.gradients.at("weight").residual;
  std::map<std::size_t, Floats> copies;
  for (const std::size_t member : members_of(static_cast<std::size_t>(state.rank), ranks)) {
    const auto first = kept.begin() + static_cast<std::ptrdiff_t>(copies.size() * elements);
    copies.emplace(member, Floats(first, first + static_cast<std::ptrdiff_t>(elements)));
  }
  REQUIRE(kept.size() == copies.size() * elements);
  return copies;
}

/// Every rank has the same bytes of each copy.
bool copies_agree(const std::vector<SessionState>& states, std::size_t elements) {
  std::map<std::size_t, Floats> known;
  for (const SessionState& state : states) {
    for (const auto& [member, copy] : copies_in(state, states.size(), elements)) {
      if (!known.emplace(member, copy).second && known.at(member) != copy) return false;
    }
  }
  return known.size() == states.size();
}

/// The copies as the state has them; none if it has no gradient.
Floats kept_in(const SessionState& state) {
  const auto found = state.gradients.find("weight");
  return found == state.gradients.end() ? Floats() : found->second.residual;
}

/// The state after a gradient's result is there, which comes a moment ahead of its end.
Result<SessionState> state_within(Session& session) {
  while (true) {
    Result<SessionState> state = session.state();
    if (state || state.status().message().find("a step is under way") == std::string::npos) return state;
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("gossip of differences: copies are the state, have the same bytes everywhere, and a state resumes") {
  constexpr std::size_t kElements = 2003, kRanks = 4;
  for (const char* codec : {R"(name: "int8")", R"(name: "qsgd")"}) {
    const std::string plan =
        std::string("seed: 3 gossip { neighbours: ring } default { codec { ") + codec + " } partitions: 2 }";
    std::vector<Floats> whole(kRanks), parts(kRanks);
    std::vector<SessionState> states(kRanks);
    const auto run = [&](std::uint32_t from, std::uint32_t to, std::vector<Floats>& values) -> Body {
      return [&, from, to](Session& session, RankContext& context) -> std::string {
        const auto rank = static_cast<std::size_t>(context.rank);
        const Result<GradientId> id = declare(session, "weight", kElements);
        if (!id) return id.status().text();
        if (from == 0) values[rank].assign(kElements, 0);
        if (from > 0) {
          if (const Status loaded = session.load_state(states[rank]); !loaded) return loaded.text();
        }
        for (std::uint32_t i = from; i < to; ++i) {
          const Floats move = contribution(context.rank, kElements, i);
          for (std::size_t e = 0; e < kElements; ++e) values[rank][e] += move[e];
          if (std::string bad = exchange(session, *id, values[rank]); !bad.empty()) return bad;
        }
        Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        states[rank] = std::move(*state);
        return "";
      };
    };
    INFO(codec);
    REQUIRE(with_plan(kRanks, plan, run(0, 9, whole)) == "");
    CHECK(copies_agree(states, kElements));
    CHECK(!states[0].gradients.at("weight").is_residual);
    REQUIRE(with_plan(kRanks, plan, run(0, 4, parts)) == "");
    REQUIRE(with_plan(kRanks, plan, run(4, 9, parts)) == "");
    CHECK(copies_agree(states, kElements));
    CHECK(parts == whole);
    CHECK(with_plan(kRanks, R"(gossip { neighbours: ring } default { codec { name: "int4" } partitions: 2 })",
                    run(9, 10, parts))
              .find("gradient weight: the state is of ") != std::string::npos);
  }
}

TEST_CASE("gossip of differences: gradients and a consensus are exact, and a consensus sets the copies") {
  constexpr std::size_t kElements = 5000, kRanks = 4;
  for (const Strategy& each : strategies()) {
    const std::string strategy(each.name);
    INFO(strategy);
    std::vector<Floats> agreed(kRanks), after(kRanks);
    std::vector<SessionState> states(kRanks);
    const std::string complaints = with_plan(
        kRanks,
        std::string("gossip { neighbours: ring from_step: 1 } default { codec { name: \"int4\" } strategy: ") +
            strategy + " }",
        [&](Session& session, RankContext& context) -> std::string {
          const auto rank = static_cast<std::size_t>(context.rank);
          const Result<GradientId> id = declare(session, "weight", kElements);
          if (!id) return id.status().text();
          Floats values = contribution(context.rank, kElements, 0);
          if (session.exchanged() != Exchanged::kGradients) return "step 0 exchanges no gradients";
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          if (!(relative_error(values, average(kRanks, kElements, 0)) < 1e-6)) return "gradients lose something";
          values = contribution(context.rank, kElements, 1);
          for (int i = 0; i < 3; ++i) {
            if (std::string bad = exchange(session, *id, values); !bad.empty()) return bad;
          }
          values = contribution(context.rank, kElements, 2);
          if (const Status begun = session.begin_consensus(); !begun) return begun.text();
          if (std::string bad = exchange(session, *id, values); !bad.empty()) return bad;
          agreed[rank] = values;
          // Copies and parameters are equal everywhere: there is nowhere to go.
          if (std::string bad = exchange(session, *id, values); !bad.empty()) return bad;
          after[rank] = values;
          Result<SessionState> state = session.state();
          if (!state) return state.status().text();
          states[rank] = std::move(*state);
          return "";
        });
    REQUIRE(complaints == "");
    CHECK(relative_error(agreed[0], average(kRanks, kElements, 2)) < 1e-6);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      CHECK(agreed[rank] == agreed[0]);
      CHECK(after[rank] == agreed[0]);
      for (const auto& [member, copy] : copies_in(states[rank], kRanks, kElements)) CHECK(copy == agreed[0]);
    }
  }
}

TEST_CASE("gossip of differences: a step that changes copies has no state within it, also if it has failed") {
  constexpr std::size_t kElements = 1000, kRanks = 3;
  const std::string plan = R"(gossip { neighbours: ring from_step: 1 } default { codec { name: "int8" } })";
  const std::string changed = "gradient weight keeps copies of parameters, which step ";
  std::string complaint;  // of rank 0's last state
  std::atomic<std::size_t> complete = 0;
  std::atomic<bool> failed = false;
  const Clock::time_point until = after(Seconds(60));
  const std::string complaints = with_plan(kRanks, plan, [&](Session& session, RankContext& context) -> std::string {
    const Result<GradientId> id = declare(session, "weight", kElements);
    if (!id) return id.status().text();
    Floats values = contribution(context.rank, kElements, 0);
    for (std::uint32_t i = 0; i < 3; ++i) {  // gradients, parameters, a consensus
      if (const Result<SessionState> before = session.state(); !before) return before.status().text();
      if (i == 2) {
        if (const Status begun = session.begin_consensus(); !begun) return begun.text();
      }
      static_cast<void>(session.exchanged());
      if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
      const Result<SessionState> within = state_within(session);
      if (i == 0 && !within) return "within gradients: " + within.status().text();
      const std::string wanted = changed + std::to_string(i) + " has changed: end the step, then take the state";
      if (i > 0 && (within || within.status().message() != wanted)) return "within: " + within.status().text();
      if (const Result<StepResult> done = session.step(); !done) return done.status().text();
      const Result<SessionState> behind = session.state();
      if (!behind) return behind.status().text();
      if (i == 0 && kept_in(*within) != kept_in(*behind)) return "a step of gradients changes copies";
    }
    static_cast<void>(session.exchanged());
    if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
    ++complete;
    if (context.rank == 0) {
      while (complete < kRanks && Clock::now() < until) std::this_thread::yield();
      session.abort("enough");
      complaint = session.state().status().message();
      failed = true;
    }
    while (!failed && Clock::now() < until) std::this_thread::yield();
    return "at the end";
  });
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    CHECK(complaints.find("rank " + std::to_string(rank) + ": at the end\n") != std::string::npos);
  }
  CHECK(complaint == changed + "3 has changed: the step has failed, so go on from an earlier state");
}

TEST_CASE("gossip of differences: parameters that are not finite are told to their rank alone, and harm no copy") {
  constexpr std::size_t kElements = 1000, kRanks = 5;
  for (const float bad_value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const TestedCodec& codec : kCodecs) {
      INFO(codec.text << ", " << bad_value);
      std::vector<SessionState> states(kRanks);
      std::vector<Floats> x(kRanks);
      const std::string complaints =
          with_plan(kRanks, "gossip { neighbours: ring } default { codec { " + codec.text + " } }",
                    [&](Session& session, RankContext& context) -> std::string {
                      const auto rank = static_cast<std::size_t>(context.rank);
                      const Result<GradientId> id = declare(session, "weight", kElements);
                      const Result<GradientId> other = declare(session, "bias", 10);
                      if (!id || !other) return "declare";
                      x[rank] = contribution(context.rank, kElements, 0);
                      Floats bias(10, 1.0f);
                      for (int i = 0; i < 400; ++i) {
                        const Floats before = x[rank];
                        if (i % 100 == 5 && rank == 1) x[rank][500] = bad_value;
                        const Submission both[] = {{*id, view_of(x[rank])}, {*other, view_of(bias)}};
                        static_cast<void>(session.exchanged());
                        if (const auto handles = session.submit(both); !handles) return handles.status().text();
                        const Result<StepResult> done = session.step();
                        if (!done) return done.status().text();
                        if (done->finite == (i % 100 == 5 && rank == 1))
                          return "step " + std::to_string(i) + " says otherwise";
                        if (!done->finite && done->first_non_finite != "weight")
                          return "names " + done->first_non_finite;
                        if (!done->finite) x[rank] = before;
                      }
                      Result<SessionState> state = session.state();
                      if (!state) return state.status().text();
                      states[rank] = std::move(*state);
                      return "";
                    });
      REQUIRE(complaints == "");
      CHECK(copies_agree(states, kElements));
      for (const SessionState& state : states) {
        for (const auto& [member, copy] : copies_in(state, kRanks, kElements)) {
          CHECK(std::all_of(copy.begin(), copy.end(), [](float value) { return std::isfinite(value); }));
        }
      }
      CHECK(squared_distance_from_mean(x) < 1e-2 * kElements * kRanks);
    }
  }
}

TEST_CASE("gossip of differences: gamma suits the codec unless the plan says it, and codecs that cannot are refused") {
  const auto gamma_of = [](const std::string& name, std::vector<std::pair<std::string, double>> parameters) {
    const auto codec = compll::make_codec(name, parameters);
    REQUIRE(codec.status().text() == "OK");
    return suitable_gamma(**codec);
  };
  CHECK(gamma_of("int8", {}) == Approx(0.5).margin(1e-3));
  CHECK(gamma_of("onebit", {}) == Approx(1 / 3.14159).margin(0.02));              // 2 / pi of the squares
  CHECK(gamma_of("topk", {{"ratio", 0.01}}) == Approx(0.5 * 0.08).margin(0.01));  // of a Gaussian's largest 1 %
  const auto declared = [](const std::string& codec, const std::string& neighbours = "ring") {
    return with_plan(2, "gossip { neighbours: " + neighbours + " } default { " + codec + " }",
                     [](Session& session, RankContext&) {
                       return session.declare({"weight", DType::kFloat32, {64, 64}, 0}).status().text();
                     });
  };
  const auto refused = [&](const std::string& text, const std::string& why) {
    INFO(text << ", expected: " << why);
    CHECK(text.find("gradient weight: " + why) != std::string::npos);
  };
  refused(
      declared(R"(codec { name: "int8" })", "pairs"),
      "gossip in pairs averages parameters as they are, and codec `int8` loses a part of each: it would take a copy "
      "of every other rank's parameters on each rank: use codec `none`, or local_sgd, whose differences any codec "
      "carries, or neighbours: ring");
  refused(declared(R"(codec { name: "topk" } second_hop { name: "int8" })"),
          "gossip has one hop, and second_hop `int8` is not `topk`: leave second_hop out");
  for (const char* neighbours : {"ring", "pairs"}) {
    refused(declared(R"(codec { name: "none" } second_hop { name: "int8" })", neighbours),
            "gossip has one hop, and second_hop `int8` is not `none`: leave second_hop out");
  }
  refused(declared(R"(codec { name: "powersgd" param { key: "rank" value: 1 } })"),
          "codec `powersgd:rank=1` adds up over all ranks within a step");
  refused(declared(R"(codec { name: "signsgd" })"), "codec `signsgd` counts votes");
  refused(declared(R"(codec { name: "diana" })"), "codec `diana` keeps a state of its own");
  refused(declared(R"(codec { name: "subsampling" })"),
          "codec `subsampling` makes its result of what all ranks have sent");
  refused(declared(R"(codec { name: "terngrad" })"), "codec `terngrad` changes a Gaussian vector by more than");
  refused(declared(R"(codec { name: "int8" } servers: 1 dedicated: true)"), "gossip averages the parameters");
  const auto opened = [](int ranks, const std::function<std::string(int)>& gossip) {
    TemporaryDirectory directory;
    return with_sessions(
        ranks,
        [&](SessionOptions& options) {
          const int rank = options.launch.rank.value_or(0);
          options.plan_file = directory.path() + "/plan" + std::to_string(rank) + ".txtpb";
          std::ofstream(options.plan_file) << "version: 1 gossip { " << gossip(rank) << " }\n";
        },
        [](Session&, RankContext&) { return std::string(); });
  };
  CHECK(opened(1, [](int) {
          return "neighbours: ring gamma: 1.5";
        }).find("gamma 1.5, expected above 0 and at most 1") != std::string::npos);
  CHECK(opened(1, [](int) { return "neighbours: pairs gamma: 0.5"; }).find("gamma beside neighbours: pairs") !=
        std::string::npos);
  CHECK(opened(2, [](int rank) {
          return rank == 0 ? "neighbours: ring gamma: 0.5" : "neighbours: ring";
        }).find("plan: gossip gamma") != std::string::npos);
}
