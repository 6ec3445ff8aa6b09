// SPDX-License-Identifier: Apache-2.0
//
// Gradients that are reduced and scattered: sessions compared with a computation that shares no code with them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "compll/codec/codec.h"
#include "compll/ops/cpu/convert.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/scattered_jobs.h"
#include "tests/runtime/session/told.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

/// Each rank sends its code of each partition to its owner, which adds its own elements as they are, unless it votes.
class ScatterModel {
 public:
  ScatterModel(const ToldCodec& codec, int ranks) : codec_(codec), ranks_(ranks) {}

  Vector step(const std::vector<Vector>& gradients) {
    Vector result;
    const std::size_t size = kShard / kParts;
    for (std::size_t part = 0; part < kParts * static_cast<std::size_t>(ranks_); ++part) {
      const int owner = static_cast<int>(part / kParts);
      Vector sum(size, 0.0);
      for (int rank = 0; rank < ranks_; ++rank) {
        const auto first = gradients[static_cast<std::size_t>(rank)].begin() + static_cast<long>(part * size);
        const Vector own(first, first + static_cast<long>(size));
        const Vector arrived = rank == owner && !codec_.votes ? own : told(rank, part, own);
        for (std::size_t i = 0; i < size; ++i) sum[i] += arrived[i];
      }
      for (double& each : sum) each = static_cast<float>(each) * (1.0F / static_cast<float>(ranks_));
      if (codec_.votes) sum = codec_.told(sum);
      result.insert(result.end(), sum.begin(), sum.end());
    }
    return result;
  }

 private:
  Vector told(int rank, std::size_t part, Vector x) {
    if (!codec_.feedback) return codec_.told(x);
    Vector& left = left_[{rank, part}];
    left.resize(x.size(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += left[i];
    const Vector arrived = codec_.told(x);
    for (std::size_t i = 0; i < x.size(); ++i) left[i] = x[i] - arrived[i];
    return arrived;
  }

  ToldCodec codec_;
  int ranks_;
  std::map<std::pair<int, std::size_t>, Vector> left_;
};

std::size_t differing(const std::vector<float>& values, const Vector& wanted) {
  double top = 0;
  for (const double each : wanted) top = std::max(top, std::fabs(each));
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) count += !(std::fabs(values[i] - wanted[i]) <= 2e-5 * top);
  return count;
}

std::string compared_with_model(int ranks, const ToldCodec& codec, std::uint32_t steps,
                                const std::string& transport = "loopback") {
  Memories memories;
  const std::string complaints = train(ranks, plan_of(ranks, codec.choice), steps, another, memories, transport);
  if (!complaints.empty()) return complaints;
  ScatterModel model(codec, ranks);
  for (std::uint32_t number = 0; number < steps; ++number) {
    std::vector<float> result;
    if (std::string bad = gathered(memories, number, another(number), result); !bad.empty()) return bad;
    std::vector<Vector> gradients;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<float> one = contribution(rank, elements_of(ranks), another(number));
      gradients.emplace_back(one.begin(), one.end());
    }
    const std::size_t wrong = differing(result, model.step(gradients));
    const std::size_t edges = codec.step > 0 ? elements_of(ranks) / 1000 : 0;
    if (wrong > edges) return "step " + std::to_string(number) + ": " + std::to_string(wrong) + " elements differ";
  }
  return "";
}

}  // namespace

TEST_CASE("session scatter: each rank's shard is what a model of the codec gives, and the others stay") {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const ToldCodec& codec : told_codecs()) {
      INFO(codec.choice << ", ranks " << ranks);
      CHECK(compared_with_model(ranks, codec, 3) == "");
    }
  }
}

TEST_CASE("session scatter: over TCP, too, each rank's shard is what a model of the codec gives") {
  for (const int ranks : {2, 3, 4}) {
    for (const ToldCodec& codec : told_codecs()) {
      INFO(codec.choice << ", ranks " << ranks);
      const std::string complaint = compared_with_model(ranks, codec, 2, "ucx:tcp");
      if (lacks_ucx(complaint)) return;
      CHECK(complaint == "");
    }
  }
}

// A negative control of the comparison.
TEST_CASE("session scatter: the comparison with the model notices what is not the same") {
  std::vector<ToldCodec> all = told_codecs();
  const auto int4 = std::find_if(
      all.begin(), all.end(), [](const ToldCodec& each) { return each.choice.find("\"int4\"") != std::string::npos; });
  REQUIRE(int4 != all.end());
  ToldCodec forgets = *int4, votes = *int4;
  forgets.feedback = !forgets.feedback;
  votes.votes = true;
  CHECK(compared_with_model(3, forgets, 3) != "");
  CHECK(compared_with_model(3, votes, 1) != "");
}

TEST_CASE("session scatter: uncompressed shards are the bits of the average and of the sum, by any plan for others") {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum}) {
      for (const char* more : {"", "strategy: ring", "strategy: tree second_hop { name: \"onebit\" }", "servers: 1"}) {
        INFO(more << ", ranks " << ranks);
        Memories memories;
        REQUIRE(train(ranks, plan_of(ranks, named("none"), more), 2, another, memories, "loopback", op) == "");
        for (std::uint32_t number = 0; number < 2; ++number) {
          std::vector<float> result, wanted(elements_of(ranks), 0.0F);
          REQUIRE(gathered(memories, number, another(number), result) == "");
          for (int rank = 0; rank < ranks; ++rank) {
            const std::vector<float> one = contribution(rank, wanted.size(), another(number));
            for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = rank == 0 ? one[i] : wanted[i] + one[i];
          }
          for (float& each : wanted) each *= op == ReduceOp::kAverage ? 1.0F / static_cast<float>(ranks) : 1.0F;
          CHECK(result == wanted);
        }
      }
    }
  }
}

TEST_CASE("session scatter: however a plan orders and fuses messages, the bytes are the same") {
  constexpr int kRanks = 3;
  for (const char* codec : {"none", "int4"}) {
    Memories wanted;
    REQUIRE(train(kRanks, plan_of(kRanks, named(codec)), 3, another, wanted) == "");
    for (const char* more : {"coordinated: true ", "credit_bytes: 16384 ", "fusion_bytes: 0 "}) {
      INFO(codec << ", " << more);
      Memories memories;
      CHECK(train(kRanks, more + plan_of(kRanks, named(codec)), 3, another, memories) == "");
      CHECK(memories == wanted);
    }
  }
}

TEST_CASE("session scatter: in half precision a shard is the float32 sum, rounded once") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const int ranks : {1, 2, 3, 4}) {
      CAPTURE(ranks, name_of(dtype));
      const std::size_t elements = elements_of(ranks);
      const auto half = [&](int rank) {
        std::vector<std::uint16_t> values(elements);
        compll::from_float32(contribution(rank, elements, 3).data(), elements, dtype, values.data());
        return values;
      };
      std::vector<float> sum(elements, 0.0F), one(elements);
      for (int rank = 0; rank < ranks; ++rank) {
        compll::to_float32(dtype, half(rank).data(), elements, one.data());
        for (std::size_t i = 0; i < elements; ++i) sum[i] = rank == 0 ? one[i] : sum[i] + one[i];
      }
      for (float& each : sum) each *= 1.0F / static_cast<float>(ranks);
      std::vector<std::uint16_t> wanted(elements);
      compll::from_float32(sum.data(), elements, dtype, wanted.data());
      CHECK(with_plan(ranks, plan_of(ranks, named("none")), [&](Session& session, RankContext& context) -> std::string {
              const Result<GradientId> id = declare_scattered(session, "weight", elements, dtype);
              if (!id) return id.status().text();
              std::vector<std::uint16_t> values = half(context.rank), expected = values;
              const auto begin = static_cast<long>(static_cast<std::size_t>(context.rank) * kShard);
              std::copy_n(wanted.begin() + begin, kShard, expected.begin() + begin);
              const Submission submission{*id, {reinterpret_cast<std::byte*>(values.data()), 2 * elements}};
              if (const auto handles = session.submit({&submission, 1}); !handles) return handles.status().text();
              if (const auto done = session.step(); !done || !done->finite) return "step";
              return values == expected ? "" : "other values";
            }) == "");
    }
  }
}

TEST_CASE("session scatter: a shard that is too large for float16 at its owner is not finite on all ranks") {
  for (const char* codec : {"none", "int8"}) {
    INFO(codec);
    const std::string complaints = with_plan(
        2, plan_of(2, named(codec)),
        [&](Session& session, RankContext& context) -> std::string {
          const std::size_t elements = elements_of(2);
          const Result<GradientId> id = declare_scattered(session, "weight", elements, DType::kFloat16);
          if (!id) return id.status().text();
          for (const bool fits : {false, true}) {
            std::vector<float> given(elements, 1.0F);
            std::fill_n(given.begin(), kShard, fits ? 30000.0F : 40000.0F);  // of rank 0
            const Result<StepResult> done = step_in_float16(session, *id, given);
            if (!done) return done.status().text();
            if (done->finite != fits) return "rank " + std::to_string(context.rank) + ": wrong verdict";
          }
          return "";
        },
        "loopback", ReduceOp::kSum);
    CHECK(complaints == "");
  }
}

TEST_CASE("session scatter: ranks send half of the bytes of an all-reduce, and answers have none") {
  for (const int ranks : {2, 3, 4}) {
    for (const char* codec : {"none", "int4"}) {
      Bytes sent[2] = {};
      for (const bool scattered : {false, true}) {
        std::vector<Bytes> of_rank(static_cast<std::size_t>(ranks));
        REQUIRE(with_plan(ranks, plan_of(ranks, named(codec)), [&](Session& session, RankContext& context) {
                  const std::size_t elements = elements_of(ranks);
                  const Result<GradientId> id =
                      scattered ? declare_scattered(session, "weight", elements) : declare(session, "weight", elements);
                  if (!id) return id.status().text();
                  std::vector<float> values = contribution(context.rank, elements, 1);
                  if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
                  of_rank[static_cast<std::size_t>(context.rank)] = session.stats().payload_bytes_sent;
                  return std::string();
                }) == "");
        for (const Bytes each : of_rank) sent[scattered ? 1 : 0] += each;
        const auto others = static_cast<Bytes>(ranks - 1);
        if (scattered && std::string(codec) == "none") {
          for (const Bytes each : of_rank) CHECK(each == others * kShard * sizeof(float));
        }
      }
      CAPTURE(ranks, codec);
      CHECK(sent[0] == 2 * sent[1]);
    }
  }
}

TEST_CASE("session scatter: with gradients that every rank gets, of any size, both are what they are alone") {
  for (const int ranks : {1, 2, 4}) {
    CAPTURE(ranks);
    CHECK(with_plan(ranks, "default { codec { name: \"none\" } }", [&](Session& session, RankContext& context) {
            std::vector<GradientId> ids;
            std::vector<std::vector<float>> values;
            std::vector<Submission> submissions;
            for (std::size_t i = 0; i < 40; ++i) {
              const std::size_t elements = static_cast<std::size_t>(ranks) * (i % 5 == 4 ? 50'000 : i);
              const std::string name = "g" + std::to_string(i);
              const Result<GradientId> id =
                  i % 2 == 0 ? declare_scattered(session, name, elements) : declare(session, name, elements);
              if (!id) return id.status().text();
              ids.push_back(*id);
              values.push_back(contribution(context.rank, elements, static_cast<std::uint32_t>(i)));
            }
            for (std::size_t i = 0; i < ids.size(); ++i) submissions.push_back({ids[i], view_of(values[i])});
            if (const auto handles = session.submit(submissions); !handles) return handles.status().text();
            if (const auto done = session.step(); !done || !done->finite) return std::string("step");
            for (std::size_t i = 0; i < ids.size(); ++i) {
              std::vector<float> wanted = average(ranks, values[i].size(), static_cast<std::uint32_t>(i));
              if (i % 2 == 0) {
                const std::vector<float> given =
                    contribution(context.rank, wanted.size(), static_cast<std::uint32_t>(i));
                const std::size_t shard = wanted.size() / static_cast<std::size_t>(ranks);
                const std::size_t begin = shard * static_cast<std::size_t>(context.rank);
                for (std::size_t e = 0; e < wanted.size(); ++e) {
                  if (e < begin || e >= begin + shard) wanted[e] = given[e];
                }
              }
              if (values[i] != wanted) return "gradient " + std::to_string(i);
            }
            return std::string();
          }) == "");
  }
}

TEST_CASE("session scatter: with every codec the mean of many results comes to the mean gradient") {
  constexpr int kRanks = 3;
  constexpr std::uint32_t kSteps = 48;
  const std::vector<float> wanted = average(kRanks, elements_of(kRanks), 7);
  int tried = 0;
  for (const std::string& name : compll::codec_names()) {
    const auto codec = compll::make_codec(name);
    if (!codec.is_ok() || name == "signsgd" || name == "onebit" || name == "efsign") continue;  // compared above
    ++tried;
    INFO(name);
    Memories memories;
    REQUIRE(train(
                kRanks, plan_of(kRanks, choice_of(name)), kSteps, [](std::uint32_t) { return 7u; }, memories) == "");
    std::vector<float> mean(wanted.size(), 0.0F), one;
    for (std::uint32_t number = 0; number < kSteps; ++number) {
      REQUIRE(gathered(memories, number, 7, one) == "");
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += one[i] / kSteps;
    }
    const double error = relative_error(mean, wanted);
    UNSCOPED_INFO("relative error " << error);
    CHECK(error < (name == "terngrad" ? 0.5 : 0.25));
  }
  CHECK(tried > 25);
}
