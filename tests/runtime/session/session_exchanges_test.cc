// SPDX-License-Identifier: Apache-2.0
//
// Codecs of rounds whose exchanges are more than sums of floats: the greatest of all ranks, and sums of whole numbers.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>

#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/ways.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kRanksInTests = 4;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
const std::string kTernary = "name: \"terngrad_shared\"";

/// A rank's gradient in a step.
using Gradients = std::function<std::vector<float>(int rank, std::uint32_t step)>;

Gradients gaussians(std::size_t elements) {
  return [=](int rank, std::uint32_t step) { return contribution(rank, elements, step); };
}

struct Training {
  std::vector<std::vector<float>> results[kRanksInTests];  ///< of each step
  std::vector<bool> finite[kRanksInTests];
  std::uint64_t sent[kRanksInTests] = {};  ///< payload bytes
  std::string complaints;
};

Training train(int ranks, const Way& way, const std::string& codec, std::uint32_t steps, const Gradients& gradients,
               const std::string& more = "", ReduceOp op = ReduceOp::kAverage,
               const std::string& transport = "loopback") {
  Training made;
  made.complaints = with_way(
      ranks, way, codec, more, op,
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", gradients(0, 0).size());
        if (!id) return id.status().text();
        for (std::uint32_t i = 0; i < steps; ++i) {
          std::vector<float> values = gradients(context.rank, i);
          if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          made.results[context.rank].push_back(values);
          made.finite[context.rank].push_back(done->finite);
        }
        made.sent[context.rank] = session.stats().payload_bytes_sent;
        return "";
      },
      transport);
  return made;
}

float greatest_magnitude(int ranks, std::uint32_t step, const Gradients& gradients) {
  float top = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const float x : gradients(rank, step)) top = std::max(top, std::abs(x));
  }
  return top;
}

/// "", or what says that `result` is no mean of ternary codes of all ranks' elements with one scale.
std::string is_ternary(const std::vector<float>& result, int ranks, std::uint32_t step, const Gradients& gradients) {
  const double scale = greatest_magnitude(ranks, step, gradients);
  std::vector<std::vector<float>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(gradients(rank, step));
  for (std::size_t i = 0; i < result.size(); ++i) {
    int above = 0, below = 0;
    for (const std::vector<float>& each : all) (each[i] > 0 ? above : below) += each[i] != 0;
    const double signs = result[i] * ranks / scale;
    if (std::abs(signs - std::round(signs)) < 1e-5 && signs < above + 0.5 && signs > -below - 0.5) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(signs) + " of " + std::to_string(scale) +
           ", of a sum from " + std::to_string(-below) + " to " + std::to_string(above);
  }
  return "";
}

/// "", or the first difference: a whole vector takes seconds to print.
std::string difference(const std::vector<float>& is, const std::vector<float>& wanted) {
  if (is.size() != wanted.size()) return "their sizes";
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (is[i] == wanted[i]) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(is[i]) + ", not " + std::to_string(wanted[i]);
  }
  return "";
}

bool all_nan(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

/// A file of a program.
class ProgramFile {
 public:
  explicit ProgramFile(const std::string& text) { std::ofstream(path()) << text; }
  /// As in a plan.
  std::string named() const { return "file: \"" + path() + "\""; }

 private:
  std::string path() const { return folder_.path() + "/program.cll"; }

  TemporaryDirectory folder_;
};

}  // namespace

TEST_CASE("session exchanges: sums of ternary codes have the same bytes by every strategy") {
  const Gradients gradients = gaussians(20'000);
  for (int ranks = 1; ranks <= kRanksInTests; ++ranks) {
    const Training first = train(ranks, {"ps", ""}, kTernary, 2, gradients);
    REQUIRE(first.complaints == "");
    for (const Way& way : ways_of(ranks)) {
      INFO(ranks << " ranks, " << way.strategy << " " << way.nodes);
      const Training made = train(ranks, way, kTernary, 2, gradients, "partitions: 5");
      REQUIRE(made.complaints == "");
      for (std::uint32_t step = 0; step < 2; ++step) {
        CHECK(is_ternary(made.results[0][step], ranks, step, gradients) == "");
        for (int rank = 0; rank < ranks; ++rank) {
          CHECK(difference(made.results[rank][step], first.results[0][step]) == "");
        }
        CHECK(made.finite[0][step]);
      }
    }
  }
}

TEST_CASE("session exchanges: over TCP they have the bytes of other transports") {
  const Gradients gradients = gaussians(20'000);
  for (const char* strategy : {"ps", "ring"}) {
    const Training made =
        train(3, {strategy, ""}, kTernary, 2, gradients, "partitions: 3", ReduceOp::kAverage, "ucx:tcp");
    if (lacks_ucx(made.complaints)) return;
    REQUIRE(made.complaints == "");
    const Training wanted = train(3, {"tree", ""}, kTernary, 2, gradients);
    for (int rank = 0; rank < 3; ++rank) {
      CHECK(difference(made.results[rank].back(), wanted.results[0].back()) == "");
    }
  }
}

TEST_CASE("session exchanges: ternary codes are right on average, and err as much as one rank's rounding does") {
  constexpr int kRanks = 3;
  constexpr std::size_t kElements = 3000;
  constexpr std::uint32_t kSteps = 200;
  const Gradients gradients = [](int rank, std::uint32_t) { return contribution(rank, kElements, 1); };
  const Training made = train(kRanks, {"ps", ""}, kTernary, kSteps, gradients);
  REQUIRE(made.complaints == "");
  const double scale = greatest_magnitude(kRanks, 0, gradients);
  double error = 0, wanted = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    double mean = 0, given = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      const double x = contribution(rank, kElements, 1)[i];
      mean += x / kRanks;
      wanted += (std::abs(x) * scale - x * x) / (kRanks * kRanks * kSteps);  // the variance of a code
    }
    for (const std::vector<float>& result : made.results[0]) given += static_cast<double>(result[i]) / kSteps;
    error += (given - mean) * (given - mean);
  }
  CHECK(error / wanted == Approx(1).margin(0.15));
}

TEST_CASE("session exchanges: ternary codes of a shared scale take fewer bytes than those of a rank's own") {
  const Gradients gradients = gaussians(1 << 16);
  for (const char* strategy : {"ps", "ring"}) {
    for (int ranks = 2; ranks <= kRanksInTests; ++ranks) {
      const auto sent = [&](const std::string& codec) {
        const Training made = train(ranks, {strategy, ""}, codec, 1, gradients);
        REQUIRE(made.complaints == "");
        double bytes = 0;
        for (int rank = 0; rank < ranks; ++rank) bytes += static_cast<double>(made.sent[rank]);
        return bytes;
      };
      const double none = sent(named("none")), own = sent(named("terngrad")), shared = sent(kTernary);
      INFO(ranks << " ranks, " << strategy << ": " << shared << " bytes, " << own << " with scales of their own, "
                 << none << " uncompressed");
      CHECK(shared < 0.95 * own);
      CHECK(shared < none / 16);
    }
  }
}

TEST_CASE("session exchanges: elements that are large in the sum of all ranks arrive exactly, by every strategy") {
  constexpr std::size_t kElements = 40'000, kLarge = 20;
  // Whole numbers: their sums are the same in any order.
  const Gradients gradients = [](int rank, std::uint32_t step) {
    std::vector<float> values(kElements);
    for (std::size_t k = 0; k < kLarge; ++k) {
      const float size = static_cast<float>((rank + 1) * static_cast<int>(20 + k + step));
      values[(k * 1999 + step * 17) % kElements] = k % 2 == 0 ? size : -size;
    }
    return values;
  };
  for (int ranks = 1; ranks <= kRanksInTests; ++ranks) {
    const Training none = train(ranks, {"ps", ""}, named("none"), 2, gradients);
    const auto sent = [](const Training& by) {
      return std::accumulate(by.sent, by.sent + kRanksInTests, std::uint64_t{0});
    };
    for (const auto& [codec, smaller] :
         {std::pair(named("sketched_topk"), 18u),
          std::pair(named("topk_chunks") + " param { key: \"ratio\" value: 0.05 }", 12u)}) {
      for (const Way& way : ways_of(ranks)) {
        INFO(codec << ", " << ranks << " ranks, " << way.strategy << " " << way.nodes);
        const Training made = train(ranks, way, codec, 2, gradients, "partitions: 5");
        REQUIRE(made.complaints == "");
        for (std::uint32_t step = 0; step < 2; ++step) {
          for (int rank = 0; rank < ranks; ++rank) {
            CHECK(difference(made.results[rank][step], none.results[rank][step]) == "");
          }
        }
        if (ranks > 1 && way.strategy == "ps") CHECK(sent(made) < sent(none) / smaller);
      }
    }
  }
}

TEST_CASE("session exchanges: a rank that is not finite is seen by all") {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    const Gradients gradients = [&](int rank, std::uint32_t step) {
      std::vector<float> values = contribution(rank, 5000, step);
      if (rank == 1 && step == 1) values[4321] = bad;
      return values;
    };
    for (const Way& way : ways_of(3)) {
      INFO(bad << ", " << way.strategy << " " << way.nodes);
      const Training made = train(3, way, kTernary, 3, gradients);
      REQUIRE(made.complaints == "");
      for (int rank = 0; rank < 3; ++rank) {
        CHECK(made.finite[rank] == std::vector<bool>{true, false, true});
        CHECK(all_nan(made.results[rank][1]));
        CHECK(difference(made.results[rank][2], made.results[0][2]) == "");
      }
    }
  }
}

TEST_CASE("session exchanges: steps of warm-up are the mean, those after it are ternary") {
  const Gradients gradients = gaussians(5000);
  for (const Way& way : ways_of(3)) {
    INFO(way.strategy << " " << way.nodes);
    const Training made = train(3, way, kTernary, 4, gradients, "warm_up_steps: 2");
    REQUIRE(made.complaints == "");
    for (std::uint32_t step = 0; step < 4; ++step) {
      if (step < 2) CHECK(relative_error(made.results[2][step], average(3, 5000, step)) < 1e-6);
      CHECK((is_ternary(made.results[2][step], 3, step, gradients) == "") == (step >= 2));
    }
  }
}

TEST_CASE("session exchanges: elements of one magnitude are exact, as a mean and as a sum, also in half precision") {
  constexpr int kRanks = 2;
  constexpr std::size_t kElements = 1000;
  const auto sign = [](int rank, std::size_t i) {
    return (i + static_cast<std::size_t>(rank)) % 3 == 0 ? -1.0f : 1.0f;
  };
  for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum}) {
    const float scale = op == ReduceOp::kSum ? 1 : 1.0f / kRanks;
    const std::string complaints =
        with_way(kRanks, {"ps", ""}, kTernary, "", op, [&](Session& session, RankContext& context) -> std::string {
          const Result<GradientId> id = declare(session, "whole", kElements);
          const Result<GradientId> half = session.declare({"half", DType::kBFloat16, {10, kElements / 10}, 0});
          if (!id || !half) return id.status().text() + half.status().text();
          std::vector<float> values;
          std::vector<std::uint16_t> halves;
          for (std::size_t i = 0; i < kElements; ++i) {
            values.push_back(sign(context.rank, i));
            halves.push_back(sign(context.rank, i) > 0 ? 0x3f80 : 0xbf80);  // bfloat16
          }
          const Submission both[] = {
              {*id, view_of(values)},
              {*half, {reinterpret_cast<std::byte*>(halves.data()), halves.size() * sizeof(std::uint16_t)}}};
          if (const auto handles = session.submit(both); !handles) return handles.status().text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
          for (std::size_t i = 0; i < kElements; ++i) {
            const float wanted = (sign(0, i) + sign(1, i)) * scale;
            const std::uint32_t bits = std::uint32_t{halves[i]} << 16;
            float of_half = 0;
            std::memcpy(&of_half, &bits, sizeof bits);
            if (values[i] != wanted || of_half != wanted) return "element " + std::to_string(i) + " is wrong";
          }
          return "";
        });
    CHECK(complaints == "");
  }
}

TEST_CASE("session exchanges: gradients of any shape, and what is too small to pay goes uncompressed") {
  const std::string complaints =
      with_sessions(2, codec("terngrad_shared"), [&](Session& session, RankContext& context) -> std::string {
        const std::vector<std::vector<std::int64_t>> shapes = {{}, {2}, {0, 7}, {1000}, {10, 100}, {5, 10, 4, 5}};
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          const GradientSpec spec{"g" + std::to_string(i), DType::kFloat32, shapes[i], 0};
          const Result<GradientId> id = session.declare(spec);
          if (!id) return id.status().text();
          std::vector<float> values = contribution(context.rank, spec.elements(), 7);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          const bool exact = relative_error(values, average(2, spec.elements(), 7)) < 1e-6;
          if (exact != (spec.elements() < 3)) return spec.name + (exact ? " is exact" : " is not");
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("session exchanges: the greatest of all ranks, NaN first, by every strategy") {
  constexpr std::size_t kElements = 40'000, kBlock = 16;
  const ProgramFile program(
      "codec tops { }\n"
      "void synchronize(float* g, float* result) {\n"
      "  float* least = map(block_reduce(g, 16, magnitude), [&](float x) -> float { return -x; });\n"
      "  result = spread(exchange(least, max), 16);\n"
      "}\n");
  const Gradients gradients = [](int rank, std::uint32_t step) {
    std::vector<float> values = contribution(rank, kElements, step);
    if (step == 1 && rank == 1) values[3 * kBlock + 5] = kNan;
    return values;
  };
  const auto wanted = [&](int ranks, std::uint32_t step) {
    std::vector<float> all(kElements, -kInfinity);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<float> values = gradients(rank, step);
      for (std::size_t block = 0; block < kElements / kBlock; ++block) {
        float top = 0;
        for (std::size_t i = 0; i < kBlock; ++i) top = std::max(top, std::abs(values[block * kBlock + i]));
        for (std::size_t i = 0; i < kBlock; ++i) {
          all[block * kBlock + i] = std::max(all[block * kBlock + i], -top);
        }
      }
    }
    return all;
  };
  for (int ranks = 1; ranks <= kRanksInTests; ++ranks) {
    for (const Way& way : ways_of(ranks)) {
      INFO(ranks << " ranks, " << way.strategy << " " << way.nodes);
      // Each exchange has several partitions.
      const Training made = train(ranks, way, program.named(), 2, gradients, "partitions: 64");
      REQUIRE(made.complaints == "");
      for (int rank = 0; rank < ranks; ++rank) {
        CHECK(difference(made.results[rank][0], wanted(ranks, 0)) == "");
        CHECK(made.finite[rank] == std::vector<bool>{true, ranks == 1});
        std::vector<float> spoiled = made.results[rank][1], others = wanted(ranks, 1);
        for (std::size_t i = 3 * kBlock; ranks > 1 && i < 4 * kBlock; ++i) {
          CHECK(std::isnan(spoiled[i]));
          spoiled[i] = others[i] = 0;
        }
        CHECK(difference(spoiled, others) == "");
      }
    }
  }
}

TEST_CASE("session exchanges: sums of rounded elements are exact, and their NaN is told, by every strategy") {
  constexpr std::size_t kElements = 10'000;
  const ProgramFile program(
      "codec counts { }\n"
      "void synchronize(float* g, float* result) { result = exchange(g, elias); }\n");
  const Gradients gradients = [](int rank, std::uint32_t step) {
    std::vector<float> values = contribution(rank, kElements, step);
    for (float& x : values) x *= 100;
    values[17] = 4'000'000;
    if (step == 1 && rank == 1) values[18] = kNan;
    return values;
  };
  for (int ranks = 1; ranks <= kRanksInTests; ++ranks) {
    std::vector<float> wanted(kElements);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<float> values = gradients(rank, 0);
      for (std::size_t i = 0; i < kElements; ++i) wanted[i] += std::nearbyint(values[i]);
    }
    for (float& x : wanted) x *= 1.0f / static_cast<float>(ranks);
    for (const Way& way : ways_of(ranks)) {
      INFO(ranks << " ranks, " << way.strategy << " " << way.nodes);
      const Training made = train(ranks, way, program.named(), 2, gradients, "partitions: 3");
      REQUIRE(made.complaints == "");
      for (int rank = 0; rank < ranks; ++rank) {
        CHECK(difference(made.results[rank][0], wanted) == "");
        CHECK(made.finite[rank] == std::vector<bool>{true, ranks == 1});
      }
    }
  }
}

TEST_CASE("session exchanges: the codec that carries them is none for gradients") {
  const std::string complaints =
      with_way(1, {"ps", ""}, named("exchange_elias"), "", ReduceOp::kAverage,
               [](Session& session, RankContext&) { return declare(session, "weight", 1000).status().text(); });
  CHECK_THAT(complaints, Catch::Contains("gradient weight: codec `exchange_elias` makes whole numbers"));
}
