// SPDX-License-Identifier: Apache-2.0
//
// Whole sessions of several ranks in one process, over the loopback transport.
#include "runtime/session/session.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "base/allocation_count.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using casync::test::RankContext;
using casync::test::with_sessions;

namespace {

View view_of(std::vector<float>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
}

/// What rank `rank` contributes: the same on every run, different for each rank, gradient and step.
std::vector<float> contribution(int rank, std::size_t elements, std::uint32_t salt) {
  std::mt19937 generator(1000u * salt + static_cast<unsigned>(rank));
  std::normal_distribution<float> normal;
  std::vector<float> values(elements);
  for (float& value : values) value = normal(generator);
  return values;
}

/// The average in rank order, as the owner of each partition adds it.
std::vector<float> average(int ranks, std::size_t elements, std::uint32_t salt) {
  std::vector<float> sum(elements, 0.0f);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> one = contribution(rank, elements, salt);
    for (std::size_t i = 0; i < elements; ++i) sum[i] = rank == 0 ? one[i] : sum[i] + one[i];
  }
  const float scale = 1.0f / static_cast<float>(ranks);
  for (float& value : sum) value *= scale;
  return sum;
}

std::string reduce(Session& session, GradientId id, std::vector<float>& values) {
  const Submission one{id, view_of(values)};
  Result<std::vector<Handle>> handles = session.submit({&one, 1});
  if (!handles) return handles.status().text();
  const Status status = session.wait((*handles)[0], -1);
  return status.is_ok() ? "" : status.text();
}

Result<GradientId> declare(Session& session, const std::string& name, std::size_t elements) {
  return session.declare({name, DType::kFloat32, {static_cast<std::int64_t>(elements)}, 0});
}

std::function<void(SessionOptions&)> codec(const std::string& name) {
  return [name](SessionOptions& options) { options.codec = CodecChoice{name, {}}; };
}

double relative_error(const std::vector<float>& values, const std::vector<float>& wanted) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double(values[i]) - wanted[i], 2);
    norm += std::pow(double(wanted[i]), 2);
  }
  return norm == 0 ? error : std::sqrt(error / norm);
}

}  // namespace

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
  std::ofstream(path) << "version: 1\ndefault { codec { name: \"none\" } second_hop { name: \"bf16\" } strategy: RING "
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

TEST_CASE("session: applied plus residuals is the sum of the gradients, over many steps and on both hops") {
  for (const char* name : {"int8", "int4", "onebit"}) {
    for (const bool feedback : {true, false}) {
      constexpr int kRanks = 2;
      constexpr std::size_t kElements = 5000;
      constexpr std::uint32_t kSteps = 200;
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
        if (Result<std::vector<Handle>> handles = session.submit(both); !handles) return handles.status().text();
        const Result<StepResult> done = session.step();
        if (!done) return done.status().text();
        if (done->finite != (step != 1)) return "step " + std::to_string(step) + ": wrong verdict";
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

TEST_CASE("session: a state saved and loaded continues with the same bytes") {
  constexpr int kRanks = 2;
  constexpr std::size_t kElements = 9000;
  SessionState saved[kRanks];
  std::vector<float> straight[kRanks], resumed[kRanks];
  const auto train = [&](Session& session, int rank, std::uint32_t from, std::uint32_t to, std::vector<float>& last) {
    const Result<GradientId> id = declare(session, "weight", kElements);
    for (std::uint32_t step = from; step < to; ++step) {
      last = contribution(rank, kElements, step);
      if (std::string bad = reduce(session, *id, last); !bad.empty()) return bad;
      if (const Result<StepResult> done = session.step(); !done) return done.status().text();
    }
    return std::string();
  };
  REQUIRE(with_sessions(kRanks, codec("int4"), [&](Session& session, RankContext& context) {
            std::string bad = train(session, context.rank, 0, 3, straight[context.rank]);
            saved[context.rank] = *session.state();
            return bad.empty() ? train(session, context.rank, 3, 6, straight[context.rank]) : bad;
          }) == "");
  REQUIRE(with_sessions(kRanks, codec("int4"), [&](Session& session, RankContext& context) {
            const Status loaded = session.load_state(saved[context.rank]);
            return loaded.is_ok() ? train(session, context.rank, 3, 6, resumed[context.rank]) : loaded.text();
          }) == "");
  for (int rank = 0; rank < kRanks; ++rank) CHECK(straight[rank] == resumed[rank]);

  const std::string refused = with_sessions(kRanks, codec("int8"), [&](Session& session, RankContext& context) {
    const Result<GradientId> id = declare(session, "weight", kElements);
    std::vector<float> values = contribution(context.rank, kElements, 0);
    if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
    if (const Result<StepResult> done = session.step(); !done) return done.status().text();
    return session.load_state(saved[context.rank]).text();
  });
  CHECK_THAT(refused, Catch::Contains("gradient weight: the state is of int4"));
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
    return (*session)->submit({&one, 1}).status();
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
    CHECK_THAT(all, Catch::Contains("gradient a: rank 0 has") && Catch::Contains("rank 1 has nothing"));
  }
  SECTION("dtype") {
    const std::string all = message_of([&](RankContext& context) {
      return submit_one(context, {"a", context.rank == 0 ? DType::kFloat32 : DType::kFloat16, {4}, 0});
    });
    CHECK_THAT(all, Catch::Contains("rank 0 has float32") && Catch::Contains("rank 1 has float16"));
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
    if (bad.empty() && session.wait(Handle(99), 1).code() != StatusCode::kInvalidArgument) bad = "a made-up handle";
    return bad;
  });
  CHECK(complaints == "");
}

TEST_CASE("session: a rank that never submits is a Timeout that names it, and ends the job for all") {
  const std::string complaints = casync::test::run_ranks(2, [](RankContext& context) -> std::string {
    context.options.timeout_s = 1;
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values(1000);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    if (!(*session)->step()) return "step";
    if (context.rank == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      const Status later = (*session)->step().status();
      return later.is_ok() ? "rank 1 did not learn of it" : "";
    }
    const std::string text = reduce(**session, *id, values);
    if (text.find("Timeout") != 0 || text.find("rank 1") == std::string::npos) return "wrong words: " + text;
    return "";
  });
  CHECK(complaints == "");
}

TEST_CASE("session: leaving without the others ends their step with PeerFailure naming who left") {
  const std::string complaints = casync::test::run_ranks(3, [](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values(1000);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    if (!(*session)->step()) return "step";
    if (context.rank == 1) return "";  // the session goes out of scope
    const std::string text = reduce(**session, *id, values);
    return text.find("PeerFailure") == 0 && text.find("rank 1") != std::string::npos ? "" : "wrong words: " + text;
  });
  CHECK(complaints == "");
}

TEST_CASE("session: abort reaches every rank with its reason") {
  const std::string complaints = casync::test::run_ranks(3, [](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    if (context.rank == 2) {
      (*session)->abort("the loss went up");
      return "";
    }
    std::vector<float> values(1000);
    const std::string text = reduce(**session, *id, values);
    return text.find("rank 2 aborted the job: the loss went up") != std::string::npos ? "" : "wrong words: " + text;
  });
  CHECK(complaints == "");
}

TEST_CASE("session: a steady step allocates nothing on our threads") {
  for (const char* name : {"none", "int8", "onebit"}) {
    const std::string complaints = with_sessions(2, codec(name), [&](Session& session, RankContext& context) {
      std::vector<GradientId> ids;
      std::vector<std::vector<float>> values;
      for (std::size_t i = 0; i < 20; ++i) {
        values.push_back(contribution(context.rank, 1 + 40000 * (i % 3), 1));
        ids.push_back(*declare(session, "g" + std::to_string(i), values.back().size()));
      }
      // Pools grow while a message that overtakes others is seen for the first time; a step that allocates by
      // itself would show in every window.
      std::uint64_t least = 1000, before = 0;
      for (int step = 0; step < 300; ++step) {
        std::vector<Submission> all;
        for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i], view_of(values[i])});
        if (Result<std::vector<Handle>> handles = session.submit(all); !handles) return handles.status().text();
        if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        if (step % 20 != 19) continue;
        const std::uint64_t now = session.stats().allocations;
        least = std::min(least, now - before);
        before = now;
      }
      return least == 0 ? std::string() : std::to_string(least) + " allocations in 20 steps at least";
    });
    INFO(name);
    CHECK(complaints == "");
  }
}
