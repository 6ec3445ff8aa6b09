// SPDX-License-Identifier: Apache-2.0
//
// Whole sessions of several ranks in one process, over the loopback transport.
#include "runtime/session/session.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include "compll/codec/codec.h"
#include "compll/ops/cpu/convert.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

TEST_CASE("session: the uncompressed average is exact, for every size and number of ranks") {
  for (int ranks : {1, 2, 3, 4}) {
    const std::string complaints = with_sessions(ranks, codec("none"), [&](Session& session, RankContext& context) {
      for (std::size_t elements : {0, 1, 2, 3, 31, 64, 1000, 100003, 1 << 20}) {
        const Result<GradientId> id = declare(session, "g" + std::to_string(elements), elements);
        if (!id) return id.status().text();
        std::vector<float> values = contribution(context.rank, elements, 7);
        if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
        if (values != average(ranks, elements, 7)) return "wrong average of " + std::to_string(elements);
        const Result<StepResult> step = session.step();
        if (!step || !step->finite) return std::string("the step is not right");
      }
      return std::string();
    });
    INFO("ranks " << ranks);
    CHECK(complaints == "");
  }
}

TEST_CASE("session: every codec leaves the same bytes on every rank, near the average") {
  const std::pair<const char*, double> codecs[] = {{"none", 1e-6}, {"bf16", 0.01}, {"fp16", 0.002},
                                                   {"int8", 0.02}, {"int4", 0.3},  {"onebit", 1.5}};
  for (const auto& [name, tolerance] : codecs) {
    constexpr int kRanks = 3;
    constexpr std::size_t kElements = 70001;
    std::vector<float> results[kRanks];
    const std::string complaints = with_sessions(kRanks, codec(name), [&](Session& session, RankContext& context) {
      const Result<GradientId> id = declare(session, "weight", kElements);
      if (!id) return id.status().text();
      std::vector<float> values = contribution(context.rank, kElements, 3);
      if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
      results[context.rank] = values;
      const Result<StepResult> step = session.step();
      return step ? std::string() : step.status().text();
    });
    INFO(name);
    REQUIRE(complaints == "");
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
    CHECK(relative_error(results[0], average(kRanks, kElements, 3)) < tolerance);
  }
}

TEST_CASE("session: a ring by plan file gives the same average") {
  casync::test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1\ndefault { codec { name: \"none\" } second_hop { name: \"bf16\" } strategy: ring "
                         "partition_bytes: 4096 }\n";
  for (int ranks : {1, 2, 4}) {
    std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
    const std::string complaints = with_sessions(
        ranks, [&](SessionOptions& options) { options.plan_file = path; },
        [&](Session& session, RankContext& context) {
          const Result<GradientId> id = declare(session, "weight", 30011);
          if (!id) return id.status().text();
          std::vector<float> values = contribution(context.rank, 30011, 5);
          if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
          results[static_cast<std::size_t>(context.rank)] = values;
          const Result<StepResult> step = session.step();
          return step ? std::string() : step.status().text();
        });
    INFO("ranks " << ranks);
    REQUIRE(complaints == "");
    for (const std::vector<float>& one : results) CHECK(one == results[0]);
    CHECK(relative_error(results[0], average(ranks, 30011, 5)) < 0.005);
  }
}

TEST_CASE("session: with every codec all ranks end with the same finite bytes, step after step") {
  constexpr int kRanks = 3;
  constexpr std::size_t kElements = 5003;
  for (const std::string& name : compll::codec_names()) {
    std::vector<std::vector<float>> results[kRanks];
    const std::string complaints = with_sessions(kRanks, codec(name), [&](Session& session, RankContext& context) {
      const Result<GradientId> id = declare(session, "weight", kElements);
      if (!id) return id.status().text();
      for (std::uint32_t step = 0; step < 3; ++step) {
        std::vector<float> values = contribution(context.rank, kElements, step);
        if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
        results[context.rank].push_back(values);
        const Result<StepResult> done = session.step();
        if (!done) return done.status().text();
        if (!done->finite) return "step " + std::to_string(step) + " is not finite";
      }
      return std::string();
    });
    INFO(name);
    REQUIRE(complaints == "");
    for (int rank = 1; rank < kRanks; ++rank) CHECK(results[rank] == results[0]);
  }
}

TEST_CASE("session: ranks may submit in any order, many gradients at once") {
  constexpr int kRanks = 3;
  constexpr std::size_t kGradients = 60;
  const std::string complaints = with_sessions(kRanks, codec("none"), [&](Session& session, RankContext& context) {
    std::vector<std::size_t> order(kGradients);
    for (std::size_t i = 0; i < kGradients; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(context.rank)));
    std::vector<GradientId> ids(kGradients);
    const auto elements = [](std::size_t i) { return i % 7 == 0 ? std::size_t{50000} : 3 * i + 1; };
    for (std::size_t i : order) {  // declared in another order on each rank, too
      const Result<GradientId> id = declare(session, "g" + std::to_string(i), elements(i));
      if (!id) return id.status().text();
      ids[i] = *id;
    }
    for (std::uint32_t step = 0; step < 5; ++step) {
      std::vector<std::vector<float>> values(kGradients);
      for (std::size_t i : order) {
        values[i] = contribution(context.rank, elements(i), static_cast<std::uint32_t>(i) + 100 * step);
        const Submission one{ids[i], view_of(values[i])};
        if (Result<std::vector<Handle>> handles = session.submit({&one, 1}); !handles) return handles.status().text();
      }
      const Result<StepResult> done = session.step();
      if (!done) return done.status().text();
      for (std::size_t i = 0; i < kGradients; ++i) {
        if (values[i] != average(kRanks, elements(i), static_cast<std::uint32_t>(i) + 100 * step)) {
          return "wrong average of gradient " + std::to_string(i);
        }
      }
    }
    return std::string();
  });
  CHECK(complaints == "");
}

TEST_CASE("session: applied plus residuals is the sum of the gradients, over 1000 steps and on both hops") {
  for (const char* name : {"int8", "int4", "onebit"}) {
    for (const bool feedback : {true, false}) {
      constexpr int kRanks = 2;
      constexpr std::size_t kElements = 1001;
      constexpr std::uint32_t kSteps = 1000;
      std::vector<double> applied[kRanks];
      std::vector<float> residuals[kRanks];
      const auto configure = [&](SessionOptions& options) {
        options.codec = CodecChoice{name, {{"feedback", feedback ? 1.0 : 0.0}}};
      };
      const std::string complaints = with_sessions(kRanks, configure, [&](Session& session, RankContext& context) {
        const Result<GradientId> id = declare(session, "weight", kElements);
        if (!id) return id.status().text();
        applied[context.rank].assign(kElements, 0.0);
        for (std::uint32_t step = 0; step < kSteps; ++step) {
          std::vector<float> values = contribution(context.rank, kElements, step);
          if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
          for (std::size_t i = 0; i < kElements; ++i) applied[context.rank][i] += values[i];
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        const Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        residuals[context.rank] = state->gradients.at("weight").residual;
        return std::string();
      });
      INFO(name << ", feedback " << feedback);
      REQUIRE(complaints == "");
      // One partition, owned by rank 0: its residual is of the average, the other ranks' of their gradient, so
      // sum of gradients = N applied + N owner's + the others'.
      double error = 0, norm = 0;
      for (std::size_t i = 0; i < kElements; ++i) applied[0][i] *= kRanks;
      std::vector<double> sum(kElements, 0.0);
      for (int rank = 0; rank < kRanks; ++rank) {
        for (std::uint32_t step = 0; step < kSteps; ++step) {
          const std::vector<float> one = contribution(rank, kElements, step);
          for (std::size_t i = 0; i < kElements; ++i) sum[i] += one[i];
        }
      }
      for (std::size_t i = 0; i < kElements; ++i) {
        double kept = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
          if (!residuals[rank].empty()) kept += (rank == 0 ? kRanks : 1) * double(residuals[rank][i]);
        }
        error += std::pow(sum[i] - applied[0][i] - kept, 2);
        norm += sum[i] * sum[i];
      }
      if (feedback) {
        CHECK(std::sqrt(error / norm) < 1e-5);
      } else {
        CHECK(std::sqrt(error / norm) > 1e-3);  // the negative control: without feedback the test notices
      }
    }
  }
}

TEST_CASE("session: a step that is not finite says so on all ranks and keeps residuals as they were") {
  constexpr int kRanks = 3;
  constexpr std::size_t kElements = 4000;
  for (const char* name : {"none", "int4", "onebit", "bf16"}) {
    std::vector<float> before[kRanks], after[kRanks];
    const std::string complaints = with_sessions(kRanks, codec(name), [&](Session& session, RankContext& context) {
      const Result<GradientId> first = declare(session, "first", kElements), second = declare(session, "second", 100);
      if (!first || !second) return std::string("declare");
      for (std::uint32_t step = 0; step < 3; ++step) {
        std::vector<float> a = contribution(context.rank, kElements, step), b = contribution(context.rank, 100, step);
        if (step == 1 && context.rank == 2) b[17] = std::numeric_limits<float>::quiet_NaN();
        if (step == 1 && context.rank == 1) b[18] = std::numeric_limits<float>::infinity();
        if (step == 1) before[context.rank] = session.state()->gradients.at("first").residual;
        const Submission both[] = {{*first, view_of(a)}, {*second, view_of(b)}};
        const Result<std::vector<Handle>> handles = session.submit(both);
        if (!handles) return handles.status().text();
        const Result<StepResult> done = session.step();
        if (!done) return done.status().text();
        if (done->finite != (step != 1)) return "step " + std::to_string(step) + ": wrong verdict";
        if (!session.has_finite_result(handles->front())) return std::string("the first gradient's result is finite");
        if (session.has_finite_result(handles->back()) != done->finite) return std::string("wrong for one gradient");
        if (step == 1) after[context.rank] = session.state()->gradients.at("first").residual;
        if (step == 1 && done->first_non_finite != "second") return "it named " + done->first_non_finite;
        if (step == 1 && std::isfinite(b[17])) return std::string("the result hides it");
        for (float value : a) {
          if (!std::isfinite(value)) return std::string("it spread to another gradient");
        }
      }
      return std::string();
    });
    INFO(name);
    CHECK(complaints == "");
    for (int rank = 0; rank < kRanks; ++rank) CHECK(before[rank] == after[rank]);
  }
}

TEST_CASE("session: a result that is too large for float16 is not finite, and residuals stay as they were") {
  constexpr std::size_t kElements = 64 * 64;
  const CodecChoice choices[] = {{"none", {}}, {"int8", {}}, {"subsampling", {{"ratio", 0.01}}}, {"powersgd", {}}};
  for (const CodecChoice& choice : choices) {
    const auto configure = [&](SessionOptions& options) {
      options.codec = choice;
      options.op = ReduceOp::kSum;
    };
    const std::string complaints = with_sessions(2, configure, [&](Session& session, RankContext& context) {
      const Result<GradientId> id = session.declare({"weight", DType::kFloat16, {64, 64}, 0});
      if (!id) return id.status().text();
      std::vector<float> before;
      for (std::uint32_t step = 0; step < 3; ++step) {
        std::vector<float> given = contribution(context.rank, kElements, step);
        if (step == 1) given.assign(kElements, 40000.0f);
        if (step == 1) before = session.state()->gradients.at("weight").residual;
        const Result<StepResult> done = step_in_float16(session, *id, given);
        if (!done) return done.status().text();
        if (done->finite != (step != 1)) return "step " + std::to_string(step) + ": wrong verdict";
        if (step != 1) continue;
        if (done->first_non_finite != "weight") return "it named " + done->first_non_finite;
        if (session.state()->gradients.at("weight").residual != before) return std::string("the residual has changed");
      }
      return std::string();
    });
    INFO(choice.name);
    CHECK(complaints == "");
  }
}

TEST_CASE("session: half-precision gradients are reduced as float32 and come back in their type") {
  const std::string complaints = with_sessions(2, codec("none"), [&](Session& session, RankContext& context) {
    const Result<GradientId> id = session.declare({"half", DType::kBFloat16, {1000}, 0});
    if (!id) return id.status().text();
    // 1.5 and 2.5 as bfloat16; their average, 2, is one too.
    std::vector<std::uint16_t> values(1000, context.rank == 0 ? 0x3fc0 : 0x4020);
    const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), values.size() * 2}};
    Result<std::vector<Handle>> handles = session.submit({&one, 1});
    if (!handles) return handles.status().text();
    if (Status status = session.wait((*handles)[0], -1); !status) return status.text();
    for (std::uint16_t value : values) {
      if (value != 0x4000) return "got bits " + std::to_string(value);
    }
    const Result<StepResult> done = session.step();
    return done ? std::string() : done.status().text();
  });
  CHECK(complaints == "");
}

TEST_CASE("session: ranks that differ learn it at the start, all of them, with the first difference") {
  using casync::test::run_ranks;
  const auto message_of = [](const std::function<Status(RankContext&)>& body) {
    return run_ranks(2, [&](RankContext& context) { return body(context).text(); });
  };
  SECTION("codec") {
    const std::string all = message_of([](RankContext& context) {
      context.options.codec = CodecChoice{context.rank == 0 ? "int8" : "int4", {}};
      return Session::open(context.options).status();
    });
    CHECK_THAT(all, Catch::Contains("rank 0: InvalidArgument") && Catch::Contains("rank 1: InvalidArgument") &&
                        Catch::Contains("plan: default codec: rank 0 has int8, rank 1 has int4"));
  }
  SECTION("op") {
    const std::string all = message_of([](RankContext& context) {
      context.options.op = context.rank == 0 ? ReduceOp::kAverage : ReduceOp::kSum;
      return Session::open(context.options).status();
    });
    CHECK_THAT(all, Catch::Contains("op: rank 0 has average, rank 1 has sum"));
  }
  const auto submit_one = [](RankContext& context, const GradientSpec& spec) -> Status {
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status();
    const Result<GradientId> id = (*session)->declare(spec);
    if (!id) return id.status();
    std::vector<float> values(spec.elements());
    const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), spec.bytes()}};
    CASYNC_RETURN_IF_ERROR((*session)->submit({&one, 1}).status());
    return (*session)->step().status();
  };
  SECTION("shape") {
    const std::string all = message_of([&](RankContext& context) {
      return submit_one(context, {"fc1.weight", DType::kFloat32, {context.rank == 0 ? 4 : 5, 3}, 0});
    });
    CHECK_THAT(all, Catch::Contains("gradient fc1.weight: rank 0 has float32 [4 x 3]") &&
                        Catch::Contains("rank 1 has float32 [5 x 3]") && Catch::Contains("rank 1: InvalidArgument"));
  }
  SECTION("name") {
    const std::string all = message_of([&](RankContext& context) {
      return submit_one(context, {context.rank == 0 ? "a" : "b", DType::kFloat32, {4}, 0});
    });
    CHECK_THAT(all, Catch::Contains("gradient a: rank 0 has") && Catch::Contains("rank 1 has nothing") ||
                        Catch::Contains("gradient b: rank 0 has nothing, rank 1 has"));
  }
  SECTION("dtype") {
    const std::string all = message_of([&](RankContext& context) {
      return submit_one(context, {"a", context.rank == 0 ? DType::kFloat32 : DType::kFloat16, {4}, 0});
    });
    CHECK_THAT(all, Catch::Contains("rank 0 has float32") && Catch::Contains("rank 1 has float16"));
  }
}

TEST_CASE("session: a codec of versions of weights is refused by name, on either hop and with one rank") {
  casync::test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  for (const char* first : {"patch", "int8"}) {
    std::ofstream(path) << "version: 1\ndefault { codec { name: \"" << first
                        << "\" } second_hop { name: \"patch\" } }\n";
    for (const int ranks : {1, 2}) {
      INFO(first << ", ranks " << ranks);
      const std::string complaints = with_sessions(
          ranks, [&](SessionOptions& options) { options.plan_file = path; },
          [](Session& session, RankContext&) {
            const Result<GradientId> id = declare(session, "weight", 10);
            return id ? std::string("it was accepted") : id.status().text();
          });
      CHECK_THAT(complaints, Catch::Contains("codec `patch` encodes the difference to the last version"));
      CHECK_THAT(complaints, !Catch::Contains("accepted"));
    }
  }
}

TEST_CASE("session: misuse is refused by name and starts nothing") {
  const std::string complaints = with_sessions(1, codec("none"), [&](Session& session, RankContext&) {
    const Result<GradientId> id = declare(session, "weight", 10);
    if (!id) return id.status().text();
    std::vector<float> values(10, 1.0f);
    const auto refused = [&](const Submission& one, const std::string& part) -> std::string {
      const Status status = session.submit({&one, 1}).status();
      if (status.code() != StatusCode::kInvalidArgument) return "not refused: " + part;
      return status.message().find(part) == std::string::npos ? "wrong words: " + status.message() : "";
    };
    std::string bad = refused({GradientId(7), view_of(values)}, "no gradient has the id 7");
    if (bad.empty()) bad = refused({*id, View{view_of(values).data, 36}}, "36 bytes, declared with 40");
    if (bad.empty()) bad = reduce(session, *id, values);
    if (bad.empty()) bad = refused({*id, view_of(values)}, "weight was submitted twice in step 0");
    if (bad.empty() && session.declare({"weight", DType::kFloat32, {11}, 0}).is_ok()) bad = "declared twice";
    if (bad.empty() && session.declare({"w2", DType::kFloat32, {-1}, 0}).is_ok()) bad = "an extent of -1";
    const std::string long_name = session.declare({std::string(4097, 'w'), DType::kFloat32, {1}, 0}).status().text();
    const std::string expected = "InvalidArgument: gradient " + std::string(64, 'w') +
                                 "...: its name has 4097 characters, expected at most 4096";
    if (bad.empty() && long_name != expected) bad = "a long name: " + long_name;
    if (bad.empty() && session.wait(Handle(99), 1).code() != StatusCode::kInvalidArgument) bad = "a made-up handle";
    return bad;
  });
  CHECK(complaints == "");
}
