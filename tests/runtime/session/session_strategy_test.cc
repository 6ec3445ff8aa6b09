// SPDX-License-Identifier: Apache-2.0
//
// Every strategy with every codec it can carry, on several layouts of nodes, over the loopback transport.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>

#include "compll/codec/codec.h"
#include "tests/runtime/session/ways.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

/// Some steps of one gradient; all results, one after the other.
std::string train(Session& session, int rank, std::size_t elements, std::uint32_t steps, std::vector<float>& results) {
  const Result<GradientId> id = declare(session, "weight", elements);
  if (!id) return id.status().text();
  results.clear();
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::vector<float> values = contribution(rank, elements, step);
    if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
    results.insert(results.end(), values.begin(), values.end());
    const Result<StepResult> done = session.step();
    if (!done) return done.status().text();
    if (!done->finite) return "step " + std::to_string(step) + " is not finite";
  }
  return "";
}

}  // namespace

TEST_CASE("session strategies: the uncompressed average, for every size, number of ranks and layout of nodes") {
  for (int ranks : {1, 2, 3, 4, 8}) {
    for (const Way& way : ways_of(ranks)) {
      const std::string complaints =
          with_way(ranks, way, named("none"), "partition_bytes: 65536", ReduceOp::kAverage,
                   [&](Session& session, RankContext& context) -> std::string {
                     for (std::size_t elements : {0, 1, 3, ranks - 1, ranks, ranks + 1, 1023, 50001}) {
                       const Result<GradientId> id = declare(session, "g" + std::to_string(elements), elements);
                       if (!id) return id.status().text();
                       std::vector<float> values = contribution(context.rank, elements, 7);
                       if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
                       const std::vector<float> wanted = average(ranks, elements, 7);
                       if (way.strategy == "all_gather" && values != wanted) return "not the sum in rank order";
                       if (!(relative_error(values, wanted) <= 1e-6)) {
                         return "wrong average of " + std::to_string(elements);
                       }
                       if (const Result<StepResult> done = session.step(); !done) return done.status().text();
                     }
                     return "";
                   });
      INFO(way.strategy << " " << way.nodes << ", ranks " << ranks);
      CHECK(complaints == "");
    }
  }
}

TEST_CASE("session strategies: two ranks that exchange a gradient of one partition have the bytes of its owners' sum") {
  constexpr std::size_t kElements = 5003;  // too large for a bundle
  for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum}) {
    std::vector<float> results[2][2];
    for (const int partitions : {1, 2}) {
      const std::string complaints =
          with_way(2, {"ps", ""}, named("none"), "partitions: " + std::to_string(partitions), op,
                   [&](Session& session, RankContext& context) {
                     return train(session, context.rank, kElements, 3, results[partitions - 1][context.rank]);
                   });
      CAPTURE(partitions);
      REQUIRE(complaints == "");
    }
    for (const auto& of_rank : results[0]) {
      REQUIRE(of_rank.size() == 3 * kElements);
      CHECK(of_rank == results[1][0]);
    }
    CHECK(results[1][0] == results[1][1]);
  }
}

TEST_CASE("session strategies: with every codec all ranks end with the same bytes, and again in another run") {
  constexpr int kRanks = 4;
  constexpr std::size_t kElements = 5003;
  for (const std::string& codec : compll::codec_names()) {
    for (const Way& way : ways_of(kRanks)) {
      std::vector<float> results[2][kRanks];
      for (auto& run : results) {
        const std::string complaints = with_way(kRanks, way, named(codec), "partitions: 3", ReduceOp::kAverage,
                                                [&](Session& session, RankContext& context) {
                                                  return train(session, context.rank, kElements, 2, run[context.rank]);
                                                });
        INFO(codec << ", " << way.strategy << " " << way.nodes);
        REQUIRE(complaints == "");
        for (int rank = 1; rank < kRanks; ++rank) CHECK(run[rank] == run[0]);
      }
      INFO(codec << ", " << way.strategy << " " << way.nodes);
      CHECK(results[0][0] == results[1][0]);
    }
  }
}

// A raw term would decide each partition of the rank that is loud, or of all that are not.
TEST_CASE("session strategies: a vote counts each rank once, whatever the magnitudes and whoever owns a partition") {
  for (const int ranks : {2, 3, 4, 8}) {
    for (const Way& way : ways_of(ranks)) {
      for (const char* op : {"average", "sum"}) {
        const int loud = ranks / 2;
        const std::string complaints = with_way(
            ranks, way, named("signsgd"), "partitions: 5",
            std::string(op) == "sum" ? ReduceOp::kSum : ReduceOp::kAverage,
            [&](Session& session, RankContext& context) -> std::string {
              const Result<GradientId> id = declare(session, "weight", 24'001);
              if (!id) return id.status().text();
              std::vector<float> values(24'001, context.rank == loud ? 100.0f : -1e-3f);
              if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
              const float majority = ranks == 2 ? 1.0f : -1.0f;  // a tie counts as positive
              const auto wrong = std::count_if(values.begin(), values.end(), [&](float x) { return x != majority; });
              return wrong == 0 ? "" : std::to_string(wrong) + " elements are not what most ranks say";
            });
        INFO(way.strategy << " " << way.nodes << ", ranks " << ranks << ", " << op);
        CHECK(complaints == "");
      }
    }
  }
}

// Sums, not averages: then what each residual lacks counts once, on whichever hop it was left out.
TEST_CASE("session strategies: applied plus residuals is the sum of the gradients, with every codec that feeds back") {
  constexpr int kRanks = 4;
  constexpr std::size_t kElements = 301;
  constexpr std::uint32_t kSteps = 24;
  std::vector<double> given(kElements, 0.0);
  for (int rank = 0; rank < kRanks; ++rank) {
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      const std::vector<float> one = contribution(rank, kElements, step);
      for (std::size_t i = 0; i < kElements; ++i) given[i] += one[i];
    }
  }
  int tried = 0;
  for (const std::string& codec : compll::codec_names()) {
    const compll::CodecInfo info = (*compll::make_codec(codec))->info();
    if (!info.feedback || info.states != 1 || info.coded_terms) continue;  // only a residual
    ++tried;
    for (const Way& way : ways_of(kRanks)) {
      for (const bool feedback : {true, false}) {
        if (!feedback && codec != "int4") continue;
        std::vector<float> results[kRanks], residuals[kRanks];
        const std::string choice =
            named(codec) + " param { key: \"feedback\" value: " + std::to_string(feedback) + " }";
        const std::string complaints =
            with_way(kRanks, way, choice, "partitions: 3", ReduceOp::kSum,
                     [&](Session& session, RankContext& context) -> std::string {
                       std::string bad = train(session, context.rank, kElements, kSteps, results[context.rank]);
                       if (!bad.empty()) return bad;
                       const Result<SessionState> state = session.state();
                       if (!state) return state.status().text();
                       residuals[context.rank] = state->gradients.at("weight").residual;
                       return "";
                     });
        INFO(codec << ", " << way.strategy << " " << way.nodes << ", feedback " << feedback);
        REQUIRE(complaints == "");
        double error = 0, norm = 0;
        for (std::size_t i = 0; i < kElements; ++i) {
          double left = given[i];
          for (std::uint32_t step = 0; step < kSteps; ++step) left -= results[0][step * kElements + i];
          for (const std::vector<float>& residual : residuals) left -= residual.empty() ? 0.0 : double(residual[i]);
          error += left * left;
          norm += given[i] * given[i];
        }
        if (feedback) {
          CHECK(std::sqrt(error / norm) < 1e-5);
        } else {
          CHECK(std::sqrt(error / norm) > 1e-4);  // the negative control: without feedback the test notices
        }
      }
    }
  }
  CHECK(tried >= 3);
}

// Results are rounded to the gradient's type, which no residual keeps: about a thousandth.
TEST_CASE("session strategies: in half precision, too, each hop keeps in its residual what its code leaves out") {
  constexpr int kRanks = 4;
  constexpr std::size_t kElements = 301;
  constexpr std::uint32_t kSteps = 24;
  const auto as_float = [](std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); };
  const auto submitted = [](int rank, std::uint32_t step) {
    std::vector<std::uint16_t> halves;
    for (const float each : contribution(rank, kElements, step)) {
      halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(each) >> 16));
    }
    return halves;
  };
  std::vector<double> given(kElements, 0.0);
  for (int rank = 0; rank < kRanks; ++rank) {
    for (std::uint32_t number = 0; number < kSteps; ++number) {
      const std::vector<std::uint16_t> halves = submitted(rank, number);
      for (std::size_t i = 0; i < kElements; ++i) given[i] += as_float(halves[i]);
    }
  }
  for (const Way& way : ways_of(kRanks)) {
    for (const bool feedback : {true, false}) {
      std::vector<double> applied(kElements, 0.0);
      std::vector<float> residuals[kRanks];
      const std::string choice = named("int4") + " param { key: \"feedback\" value: " + std::to_string(feedback) + " }";
      const std::string complaints =
          with_way(kRanks, way, choice, "partitions: 3", ReduceOp::kSum,
                   [&](Session& session, RankContext& context) -> std::string {
                     const Result<GradientId> id = session.declare({"half", DType::kBFloat16, {kElements}, 0});
                     if (!id) return id.status().text();
                     for (std::uint32_t number = 0; number < kSteps; ++number) {
                       std::vector<std::uint16_t> values = submitted(context.rank, number);
                       const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), values.size() * 2}};
                       if (Result<std::vector<Handle>> handles = session.submit({&one, 1}); !handles) {
                         return handles.status().text();
                       }
                       if (const Result<StepResult> done = session.step(); !done) return done.status().text();
                       for (std::size_t i = 0; context.rank == 0 && i < kElements; ++i)
                         applied[i] += as_float(values[i]);
                     }
                     const Result<SessionState> state = session.state();
                     if (!state) return state.status().text();
                     residuals[context.rank] = state->gradients.at("half").residual;
                     return "";
                   });
      INFO(way.strategy << " " << way.nodes << ", feedback " << feedback);
      REQUIRE(complaints == "");
      double error = 0, norm = 0;
      for (std::size_t i = 0; i < kElements; ++i) {
        double left = given[i] - applied[i];
        for (const std::vector<float>& residual : residuals) left -= residual.empty() ? 0.0 : double(residual[i]);
        error += left * left;
        norm += given[i] * given[i];
      }
      const double lost = std::sqrt(error / norm);
      UNSCOPED_INFO("lost " << lost);
      if (feedback) {
        CHECK(lost < 0.01);
      } else {
        CHECK(lost > 0.02);  // the negative control
      }
    }
  }
}

TEST_CASE("session strategies: half-precision gradients, each codec's result in the gradient's own type") {
  constexpr int kRanks = 4;
  for (const Way& way : ways_of(kRanks)) {
    for (const char* codec : {"none", "int8"}) {
      std::vector<std::uint16_t> results[kRanks];
      const std::string complaints =
          with_way(kRanks, way, named(codec), "partitions: 2", ReduceOp::kAverage,
                   [&](Session& session, RankContext& context) -> std::string {
                     const Result<GradientId> id = session.declare({"half", DType::kBFloat16, {3001}, 0});
                     if (!id) return id.status().text();
                     // 1.5, 2.5, 1.5, 2.5 as bfloat16; their average, 2, is one too, and so is each node's sum.
                     std::vector<std::uint16_t> values(3001, context.rank % 2 == 0 ? 0x3fc0 : 0x4020);
                     const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), values.size() * 2}};
                     if (Result<std::vector<Handle>> handles = session.submit({&one, 1}); !handles) {
                       return handles.status().text();
                     }
                     if (const Result<StepResult> done = session.step(); !done) return done.status().text();
                     results[context.rank] = values;
                     return "";
                   });
      INFO(codec << ", " << way.strategy << " " << way.nodes);
      REQUIRE(complaints == "");
      for (int rank = 1; rank < kRanks; ++rank) CHECK(results[rank] == results[0]);
      const auto right = [](std::uint16_t value) { return std::abs(value - 0x4000) <= 2; };
      CHECK(std::all_of(results[0].begin(), results[0].end(), right));
      if (std::string(codec) == "none") CHECK(results[0] == std::vector<std::uint16_t>(3001, 0x4000));
    }
  }
}

TEST_CASE("session strategies: one rank's NaN is known to all, and no residual changes") {
  constexpr int kRanks = 4;
  for (const Way& way : ways_of(kRanks)) {
    std::vector<float> before[kRanks], after[kRanks];
    const std::string complaints =
        with_way(kRanks, way, named("int4"), "partitions: 3", ReduceOp::kAverage,
                 [&](Session& session, RankContext& context) -> std::string {
                   std::vector<float> results;
                   if (std::string bad = train(session, context.rank, 999, 2, results); !bad.empty()) return bad;
                   before[context.rank] = session.state()->gradients.at("weight").residual;
                   std::vector<float> values = contribution(context.rank, 999, 9);
                   if (context.rank == 1) values[500] = std::nanf("");
                   if (std::string bad = reduce(session, *declare(session, "weight", 999), values); !bad.empty()) {
                     return bad;
                   }
                   const Result<StepResult> done = session.step();
                   if (!done || done->finite) return "the verdict";
                   after[context.rank] = session.state()->gradients.at("weight").residual;
                   return std::isfinite(values[500]) ? "the result hides it" : "";
                 });
    INFO(way.strategy << " " << way.nodes);
    CHECK(complaints == "");
    for (int rank = 0; rank < kRanks; ++rank) CHECK(before[rank] == after[rank]);
  }
}

TEST_CASE("session strategies: a residual of other nodes is refused, and says which") {
  SessionState saved[3];
  const auto way = [](const std::string& nodes) { return Way{"hierarchical", nodes}; };
  const auto no_word = [](Session& session, RankContext& context) {
    std::vector<float> results;
    return train(session, context.rank, 500, 1, results);
  };
  REQUIRE(with_way(3, way("aab"), named("int4"), "", ReduceOp::kAverage, [&](Session& session, RankContext& context) {
            std::string bad = no_word(session, context);
            saved[context.rank] = *session.state();
            return bad;
          }) == "");
  const auto load = [&](Session& session, RankContext& context) {
    if (std::string bad = no_word(session, context); !bad.empty()) return bad;
    const Status loaded = session.load_state(saved[context.rank]);
    return loaded.is_ok() ? std::string() : loaded.text();
  };
  CHECK(with_way(3, way("xxy"), named("int4"), "", ReduceOp::kAverage, load) == "");  // other names, the same nodes
  CHECK_THAT(with_way(3, way("abb"), named("int4"), "", ReduceOp::kAverage, load),
             Catch::Contains("gradient weight: the state is of int4 / int4, hierarchical, 1 partitions, ranks 2 of "
                             "node 0, 1 of node 1, here it is int4 / int4, hierarchical, 1 partitions, ranks 1 of "
                             "node 0, 2 of node 1"));
}

TEST_CASE(
    "session strategies: codecs that a strategy cannot carry are refused at the declaration, with the gradient's "
    "name") {
  const auto refusal = [](const std::string& plan) {
    TemporaryDirectory directory;
    const std::string path = directory.path() + "/plan.txtpb";
    std::ofstream(path) << "version: 1 default { " << plan << " }\n";
    return with_sessions(
        2, [&](SessionOptions& options) { options.plan_file = path; },
        [](Session& session, RankContext&) { return declare(session, "weight", 10).status().text(); });
  };
  CHECK_THAT(refusal("codec { name: \"int8\" } second_hop { name: \"bf16\" } strategy: all_gather"),
             Catch::Contains("rank 0: PlanError: gradient weight: strategy `all_gather` has one hop only, in codec "
                             "`int8`") &&
                 Catch::Contains("second_hop `bf16`") && Catch::Contains("rank 1: PlanError"));
}

TEST_CASE("session strategies: a codec that the plan leaves to the planner is refused at the declaration") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path)
      << "version: 1 rule { match: \"w*\" max_error: 0.02 } rule { match: \"b*\" codec { name: \"int8\" } "
         "max_error: 0.02 }\n";
  const std::string refusal = with_sessions(
      2, [&](SessionOptions& options) { options.plan_file = path; },
      [](Session& session, RankContext&) {
        const Status fixed = declare(session, "bias", 10).status();
        return fixed.is_ok() ? declare(session, "weight", 10).status().text() : fixed.text();
      });
  CHECK_THAT(refusal,
             Catch::Contains("PlanError: gradient weight: its codec is left to the planner (max_error in rule 1 "
                             "`w*`, and no codec): `casync plan --plan FILE` chooses one, or name it") &&
                 Catch::Contains("rank 1: PlanError"));
}
