// SPDX-License-Identifier: Apache-2.0
//
// Codecs of rounds: turns of each rank, and exchanges between them, by every strategy.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "compll/codec/rounds_codec.h"
#include "tests/runtime/session/ways.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kRanks = 3;
constexpr std::size_t kRows = 37, kColumns = 50, kElements = kRows * kColumns;

Result<GradientId> declare_matrix(Session& session, DType dtype = DType::kFloat32) {
  return session.declare({"weight", dtype, {kRows, kColumns}, 0});
}

const CodecChoice kRankTwo{"powersgd", {{"rank", 2}}};

/// A matrix of rank `terms` that differs by rank and salt only in its right factors: so is the mean of all.
std::vector<float> low_rank(int rank, std::size_t terms, std::uint32_t salt) {
  std::vector<float> matrix(kElements, 0.0f);
  for (std::size_t term = 0; term < terms; ++term) {
    const std::vector<float> left = contribution(99, kRows, 50 + static_cast<std::uint32_t>(term));
    const std::vector<float> right = contribution(rank, kColumns, salt + 10 * static_cast<std::uint32_t>(term));
    for (std::size_t i = 0; i < kElements; ++i) matrix[i] += left[i / kColumns] * right[i % kColumns];
  }
  return matrix;
}

std::vector<float> mean_of(const std::function<std::vector<float>(int)>& of_rank) {
  std::vector<float> sum(kElements, 0.0f);
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::vector<float> one = of_rank(rank);
    for (std::size_t i = 0; i < kElements; ++i) sum[i] += one[i] / kRanks;
  }
  return sum;
}

}  // namespace

TEST_CASE("session rounds: a matrix of no higher rank than the codec arrives whole, at every strategy") {
  for (const Way& way : ways_of(kRanks)) {
    std::vector<float> results[kRanks];
    TemporaryDirectory directory;
    const std::string path = directory.path() + "/plan.txtpb";
    std::ofstream(path)
        << "version: 1 default { codec { name: \"powersgd\" param { key: \"rank\" value: 2 } } strategy: "
        << way.strategy << " }\n";
    const std::string complaints = with_sessions(
        kRanks,
        [&](SessionOptions& options) {
          options.plan_file = path;
          if (!way.nodes.empty()) {
            options.launch.node = way.nodes.substr(static_cast<std::size_t>(*options.launch.rank), 1);
          }
        },
        [&](Session& session, RankContext& context) -> std::string {
          const Result<GradientId> id = declare_matrix(session);
          if (!id) return id.status().text();
          for (std::uint32_t i = 0; i < 4; ++i) {
            results[context.rank] = low_rank(context.rank, 2, i);
            if (std::string bad = step(session, *id, results[context.rank]); !bad.empty()) return bad;
          }
          return "";
        });
    INFO(way.strategy << " " << way.nodes);
    REQUIRE(complaints == "");
    for (const std::vector<float>& one : results) CHECK(one == results[0]);
    CHECK(relative_error(results[0], mean_of([](int rank) { return low_rank(rank, 2, 3); })) < 2e-4);
  }
}

TEST_CASE("session rounds: unsent elements are kept, and sent later") {
  constexpr std::uint32_t kSteps = 40;
  std::vector<double> applied(kElements, 0.0);
  std::vector<float> kept[kRanks];
  const std::string complaints =
      with_sessions(kRanks, choose(kRankTwo), [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare_matrix(session);
        if (!id) return id.status().text();
        for (std::uint32_t i = 0; i < kSteps; ++i) {
          std::vector<float> values = contribution(context.rank, kElements, i);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          for (std::size_t e = 0; e < kElements && context.rank == 0; ++e) applied[e] += values[e];
        }
        const Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        kept[context.rank] = state->gradients.at("weight").residual;
        return "";
      });
  REQUIRE(complaints == "");
  REQUIRE(kept[0].size() == kElements + 2 * kColumns);  // the residual, and the factor to begin with
  double error = 0, norm = 0, without = 0;
  for (std::size_t e = 0; e < kElements; ++e) {
    double sum = 0, left = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (std::uint32_t i = 0; i < kSteps; ++i) sum += contribution(rank, kElements, i)[e];
      left += kept[rank][e];
      if (e == 0) REQUIRE(std::memcmp(&kept[rank][kElements], &kept[0][kElements], 8 * kColumns) == 0);
    }
    error += std::pow(sum - kRanks * applied[e] - left, 2);
    without += std::pow(sum - kRanks * applied[e], 2);
    norm += sum * sum;
  }
  CHECK(std::sqrt(error / norm) < 1e-4);
  CHECK(std::sqrt(without / norm) > 1e-2);
}

TEST_CASE("session rounds: a state that is saved and loaded goes on with the same bytes") {
  std::vector<float> through[kRanks], resumed[kRanks];
  SessionState states[kRanks];
  const auto run = [&](std::uint32_t from, std::uint32_t to, bool load, bool save, std::vector<float>* results) {
    return with_sessions(kRanks, choose(kRankTwo), [&](Session& session, RankContext& context) -> std::string {
      const Result<GradientId> id = declare_matrix(session);
      if (!id) return id.status().text();
      if (load) {
        if (const Status loaded = session.load_state(states[context.rank]); !loaded) return loaded.text();
      }
      for (std::uint32_t i = from; i < to; ++i) {
        results[context.rank] = contribution(context.rank, kElements, i);
        if (std::string bad = step(session, *id, results[context.rank]); !bad.empty()) return bad;
      }
      if (!save) return "";
      Result<SessionState> state = session.state();
      if (!state) return state.status().text();
      states[context.rank] = std::move(*state);
      return "";
    });
  };
  REQUIRE(run(0, 6, false, false, through) == "");
  REQUIRE(run(0, 3, false, true, resumed) == "");
  REQUIRE(run(3, 6, true, false, resumed) == "");
  for (int rank = 0; rank < kRanks; ++rank) CHECK(through[rank] == resumed[rank]);
}

TEST_CASE("session rounds: a step that is not finite is said to be so by all ranks, and leaves the state as it was") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f}) {
    std::vector<float> before[kRanks], after[kRanks];
    bool finite[kRanks] = {true, true, true};
    const std::string complaints =
        with_sessions(kRanks, choose(kRankTwo), [&](Session& session, RankContext& context) -> std::string {
          const Result<GradientId> id = declare_matrix(session);
          if (!id) return id.status().text();
          for (std::uint32_t i = 0; i < 3; ++i) {
            std::vector<float> values = contribution(context.rank, kElements, i);
            if (i == 2 && context.rank == 1) std::fill(values.begin() + 17, values.begin() + 200, bad);
            if (std::string wrong = reduce(session, *id, values); !wrong.empty()) return wrong;
            const Result<StepResult> done = session.step();
            if (!done) return done.status().text();
            finite[context.rank] = done->finite;
            const Result<SessionState> state = session.state();
            if (!state) return state.status().text();
            (i == 1 ? before : after)[context.rank] = state->gradients.at("weight").residual;
          }
          return "";
        });
    INFO(bad);
    REQUIRE(complaints == "");
    for (int rank = 0; rank < kRanks; ++rank) {
      CHECK_FALSE(finite[rank]);
      CHECK(before[rank] == after[rank]);
    }
  }
}

TEST_CASE("session rounds: vectors and what is too small to pay go uncompressed") {
  const std::string complaints =
      with_sessions(kRanks, choose(kRankTwo), [&](Session& session, RankContext& context) -> std::string {
        const std::vector<std::vector<std::int64_t>> shapes = {{},        {1000},    {0, 7}, {3, 0},
                                                               {1, 1000}, {1000, 1}, {4, 4}};
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          const GradientSpec spec{"g" + std::to_string(i), DType::kFloat32, shapes[i], 0};
          const Result<GradientId> id = session.declare(spec);
          if (!id) return id.status().text();
          std::vector<float> values = contribution(context.rank, spec.elements(), 7);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          if (!(relative_error(values, average(kRanks, spec.elements(), 7)) <= 1e-6)) {
            return spec.name + " is not the mean";
          }
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("session rounds: a tensor is its first extent by all the others") {
  std::vector<float> results[2];
  for (int which : {0, 1}) {
    const std::string complaints =
        with_sessions(2, choose(kRankTwo), [&](Session& session, RankContext& context) -> std::string {
          const Result<GradientId> id = session.declare(
              {"weight", DType::kFloat32,
               which == 0 ? std::vector<std::int64_t>{32, 5, 3, 3} : std::vector<std::int64_t>{32, 45}, 0});
          if (!id) return id.status().text();
          std::vector<float> values = contribution(context.rank, std::size_t{32} * 45, 3);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          if (context.rank == 0) results[which] = values;
          return "";
        });
    REQUIRE(complaints == "");
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("session rounds: gradients in half precision") {
  std::vector<std::uint16_t> results[kRanks];
  const auto upper = [](float value) {  // values below have no other bits
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<std::uint16_t>(bits >> 16);
  };
  const std::string complaints =
      with_sessions(kRanks, choose(kRankTwo), [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare_matrix(session, DType::kBFloat16);
        if (!id) return id.status().text();
        for (std::uint32_t i = 0; i < 3; ++i) {
          std::vector<std::uint16_t>& values = results[context.rank];
          values.clear();
          for (std::size_t e = 0; e < kElements; ++e) {
            values.push_back(upper(static_cast<float>((e / kColumns % 4 + 1) * (e % kColumns % 4 + 1))));
          }
          const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), 2 * kElements}};
          const Result<std::vector<Handle>> handles = session.submit({&one, 1});
          if (!handles) return handles.status().text();
          if (const Status status = session.wait((*handles)[0], -1); !status) return status.text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        return "";
      });
  REQUIRE(complaints == "");
  std::size_t wrong = 0;
  for (std::size_t e = 0; e < kElements; ++e) {
    const float wanted = static_cast<float>((e / kColumns % 4 + 1) * (e % kColumns % 4 + 1));
    std::uint32_t bits = std::uint32_t{results[0][e]} << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    wrong += !(std::abs(value - wanted) <= wanted / 128);
  }
  CHECK(wrong == 0);
  for (const std::vector<std::uint16_t>& one : results) CHECK(one == results[0]);
}

TEST_CASE("session rounds: a codec of rounds with another one is refused, and a parameter out of range") {
  const auto refusal = [](const std::string& plan) {
    TemporaryDirectory directory;
    const std::string path = directory.path() + "/plan.txtpb";
    std::ofstream(path) << plan;
    return with_sessions(
        1, [&](SessionOptions& options) { options.plan_file = path; },
        [&](Session& session, RankContext&) { return declare_matrix(session).status().text(); });
  };
  CHECK(refusal("version: 1 default { codec { name: \"powersgd\" } second_hop { name: \"int8\" } }") ==
        "rank 0: PlanError: gradient weight: codec `powersgd` has exchanges of its own, which are not compressed: it "
        "stands for both hops, and `int8` cannot be one of them\n");
  CHECK(refusal("version: 1 default { codec { name: \"int8\" } second_hop { name: \"powersgd\" } }") ==
        "rank 0: PlanError: gradient weight: codec `powersgd` has exchanges of its own, which are not compressed: it "
        "stands for both hops, and `int8` cannot be one of them\n");
  CHECK_THAT(refusal("version: 1 default { codec { name: \"powersgd\" param { key: \"rank\" value: 0 } } }"),
             Catch::Matchers::Contains("gradient weight: codec `powersgd`: parameter `rank` is 0"));
}

TEST_CASE("session rounds: a rank that is late is named, with the turn that waits for it") {
  std::atomic<bool> told = false;
  const std::string complaints = with_sessions(
      2,
      [&](SessionOptions& options) {
        options.codec = kRankTwo;
        options.timeout_s = 20;  // the first step has to get through on a busy machine
      },
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare_matrix(session);
        if (!id) return id.status().text();
        std::vector<float> values = contribution(context.rank, kElements, 1);
        if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
        if (context.rank == 1) {
          for (int i = 0; i < 30'000 && !told; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return "";
        }
        const Submission one{*id, view_of(values)};
        const Result<std::vector<Handle>> handles = session.submit({&one, 1});
        if (!handles) return handles.status().text();
        std::string text = session.wait((*handles)[0], 0.3).text();
        told = true;
        return text;
      });
  CHECK_THAT(complaints, Catch::Matchers::Contains("turn 1 of 3 is done; then nothing came from rank 1"));
}
