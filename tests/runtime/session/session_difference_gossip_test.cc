// SPDX-License-Identifier: Apache-2.0
//
// Gossip with codecs that lose (CHOCO-SGD): against the published algorithm, computed here in one process in double
// precision and with a copy of every rank.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/runtime/session/difference_gossip_cases.h"
#include "tests/runtime/session/lacks_ucx.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

/// Algorithm 2 of Koloskova, Stich, Jaggi 2019 with the weights of a ring, all ranks in one process.
struct Choco {
  std::vector<Doubles> x, copy;

  Choco(std::size_t ranks, std::size_t elements) : x(ranks, Doubles(elements)), copy(x) {}

  void exchange(const compll::Codec& codec, std::size_t partitions, double gamma) {
    for (std::size_t rank = 0; rank < x.size(); ++rank) {
      Floats difference;
      for (std::size_t e = 0; e < x[rank].size(); ++e) {
        difference.push_back(static_cast<float>(x[rank][e] - copy[rank][e]));
      }
      const Floats sent = through(codec, difference, partitions);
      for (std::size_t e = 0; e < sent.size(); ++e) copy[rank][e] += static_cast<double>(sent[e]);
    }
    for (std::size_t rank = 0; rank < x.size(); ++rank) {
      const std::set<std::size_t> members = members_of(rank, x.size());
      for (std::size_t e = 0; e < x[rank].size(); ++e) {
        double mean = 0;
        for (const std::size_t member : members) mean += copy[member][e] / static_cast<double>(members.size());
        x[rank][e] += gamma * (mean - copy[rank][e]);
      }
    }
  }
};

double error(const Floats& got, const Doubles& wanted) {
  double difference = 0, norm = 0;
  for (std::size_t e = 0; e < got.size(); ++e) {
    difference += std::pow(static_cast<double>(got[e]) - wanted[e], 2);
    norm += wanted[e] * wanted[e];
  }
  return std::sqrt(difference / norm);
}

}  // namespace

TEST_CASE("gossip of differences: every rank's parameters are those of CHOCO-SGD in one process") {
  constexpr std::size_t kElements = 3001;
  constexpr std::uint32_t kSteps = 15;
  for (const TestedCodec& codec : kCodecs) {
    for (const int ranks : {1, 2, 3, 4, 5}) {
      for (const std::size_t partitions : {1u, 3u}) {
        INFO(codec.text << ", " << ranks << " ranks, " << partitions << " partitions");
        Choco model(static_cast<std::size_t>(ranks), kElements);
        std::vector<std::vector<Doubles>> wanted;
        for (std::uint32_t i = 0; i < kSteps; ++i) {
          for (int rank = 0; rank < ranks; ++rank) {
            const Floats move = contribution(rank, kElements, i);
            for (std::size_t e = 0; e < kElements; ++e) {
              model.x[static_cast<std::size_t>(rank)][e] += static_cast<double>(move[e]);
            }
          }
          model.exchange(*made(codec), partitions, 0.4);
          wanted.push_back(model.x);
        }
        const std::string plan = "gossip { neighbours: ring gamma: 0.4 } default { codec { " + codec.text +
                                 " } partitions: " + std::to_string(partitions) + " }";
        REQUIRE(with_plan(ranks, plan, [&](Session& session, RankContext& context) -> std::string {
                  const Result<GradientId> id = declare(session, "weight", kElements);
                  if (!id) return id.status().text();
                  Floats values(kElements);
                  for (std::uint32_t i = 0; i < kSteps; ++i) {
                    const Floats move = contribution(context.rank, kElements, i);
                    for (std::size_t e = 0; e < kElements; ++e) values[e] += move[e];
                    if (std::string bad = exchange(session, *id, values); !bad.empty()) return bad;
                    // Rounding makes another choice for single elements than double precision does.
                    const double off = error(values, wanted[i][static_cast<std::size_t>(context.rank)]);
                    if (!(off < 1e-3)) return "step " + std::to_string(i) + " is off by " + std::to_string(off);
                  }
                  return "";
                }) == "");
      }
    }
  }
}

TEST_CASE("gossip of differences: on a quadratic problem ranks come to the same point, which naive coding does not") {
  constexpr int kRanks = 5;
  constexpr std::size_t kElements = 640;
  constexpr std::uint32_t kSteps = 600;
  constexpr float kRate = 0.1f;
  // Rank i minimizes |x - b_i|^2 / 2, so that the mean of all x goes to the mean of all b. The rate falls to zero.
  const auto rate = [](std::uint32_t i) { return i < kSteps / 2 ? kRate : 0.0f; };
  std::vector<Floats> targets;
  for (int rank = 0; rank < kRanks; ++rank) targets.push_back(contribution(rank, kElements, 7));
  const double apart = squared_distance_from_mean(targets);
  for (const TestedCodec& codec : kCodecs) {
    INFO(codec.text);
    std::vector<Floats> x(kRanks);
    const std::string complaints =
        with_plan(kRanks, "gossip { neighbours: ring } default { codec { " + codec.text + " } }",
                  [&](Session& session, RankContext& context) -> std::string {
                    const Result<GradientId> id = declare(session, "weight", kElements);
                    if (!id) return id.status().text();
                    const auto rank = static_cast<std::size_t>(context.rank);
                    x[rank].assign(kElements, 0);
                    for (std::uint32_t i = 0; i < kSteps; ++i) {
                      for (std::size_t e = 0; e < kElements; ++e)
                        x[rank][e] -= rate(i) * (x[rank][e] - targets[rank][e]);
                      if (std::string bad = exchange(session, *id, x[rank]); !bad.empty()) return bad;
                    }
                    return "";
                  });
    REQUIRE(complaints == "");

    // The same problem with codes of the parameters themselves.
    const std::unique_ptr<compll::Codec> used = made(codec);
    std::vector<Floats> naive(kRanks, Floats(kElements));
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      std::vector<Floats> coded;
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        for (std::size_t e = 0; e < kElements; ++e) naive[rank][e] -= rate(i) * (naive[rank][e] - targets[rank][e]);
        coded.push_back(through(*used, naive[rank], 1));
      }
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        for (std::size_t e = 0; e < kElements; ++e) {
          const std::size_t left = (rank + kRanks - 1) % kRanks, right = (rank + 1) % kRanks;
          naive[rank][e] = (naive[rank][e] + coded[left][e] + coded[right][e]) / 3;
        }
      }
    }
    double off = 0, norm = 0, naive_off = 0;
    for (std::size_t e = 0; e < kElements; ++e) {
      double mean = 0, wanted = 0, of_naive = 0;
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        mean += static_cast<double>(x[rank][e]) / kRanks;
        wanted += static_cast<double>(targets[rank][e]) / kRanks;
        of_naive += static_cast<double>(naive[rank][e]) / kRanks;
      }
      off += std::pow(mean - wanted, 2);
      naive_off += std::pow(of_naive - wanted, 2);
      norm += wanted * wanted;
    }
    const double left = squared_distance_from_mean(x) / apart, naive_left = squared_distance_from_mean(naive) / apart;
    CAPTURE(left, naive_left, off / norm, naive_off / norm);
    CHECK(left < 1e-3);
    CHECK(off / norm < 1e-6);
    CHECK(std::max(naive_left, naive_off / norm) > 30 * std::max(left, off / norm));
  }
}

TEST_CASE("gossip of differences: half precision has copies in float32, and goes to the same place") {
  constexpr std::size_t kElements = 512, kRanks = 3;
  std::vector<std::vector<double>> x(kRanks);
  const std::string complaints = with_plan(
      kRanks, R"(gossip { neighbours: ring } default { codec { name: "int8" } })",
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = session.declare({"half", DType::kBFloat16, {kElements}, 0});
        if (!id) return id.status().text();
        std::vector<std::uint16_t> values(kElements);
        for (std::size_t e = 0; e < kElements; ++e) {
          // -2, 0 and 2 in turns: ranks are apart, and their mean is 0.
          values[e] = std::array<std::uint16_t, 3>{0xc000, 0, 0x4000}[(e + static_cast<std::size_t>(context.rank)) % 3];
        }
        for (int i = 0; i < 40; ++i) {
          const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), 2 * kElements}};
          static_cast<void>(session.exchanged());
          if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
          if (const auto done = session.step(); !done || !done->finite) return "step";
        }
        for (const std::uint16_t value : values) {
          const std::uint32_t bits = std::uint32_t{value} << 16;
          float number = 0;
          static_assert(sizeof number == sizeof bits);
          std::memcpy(&number, &bits, sizeof number);
          x[static_cast<std::size_t>(context.rank)].push_back(number);
        }
        return "";
      });
  REQUIRE(complaints == "");
  for (const Doubles& of_rank : x) {
    for (const double value : of_rank) CHECK(std::abs(value) < 0.02);
  }
}

TEST_CASE("gossip of differences: by TCP, with many gradients of several codecs, at each rank's own pace") {
  const std::string complaints = with_plan(
      4,
      R"(gossip { neighbours: ring every: 2 } default { codec { name: "int8" } partitions: 3 }
         rule { match: "g1" codec { name: "none" } } rule { match: "g2" codec { name: "topk_coded" } })",
      [&](Session& session, RankContext& context) -> std::string {
        std::vector<GradientId> ids;
        for (int g = 0; g < 5; ++g) {
          const Result<GradientId> id =
              declare(session, "g" + std::to_string(g), 500 + 300 * static_cast<std::size_t>(g));
          if (!id) return id.status().text();
          ids.push_back(*id);
        }
        std::vector<Floats> values;
        for (std::size_t g = 0; g < ids.size(); ++g) values.push_back(contribution(context.rank, 500 + 300 * g, 0));
        for (std::uint32_t i = 0; i < 40; ++i) {
          if (session.exchanged() == Exchanged::kParameters) {
            for (std::size_t g = 0; g < ids.size(); ++g) {
              const Submission one{ids[g], view_of(values[g])};
              if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
            }
          }
          const Result<StepResult> done = session.step();
          if (!done || !done->finite) return "step " + std::to_string(i);
        }
        for (const std::size_t g : {0u, 1u, 3u, 4u}) {
          Floats mean(values[g].size());
          for (int rank = 0; rank < 4; ++rank) {
            const Floats one = contribution(rank, mean.size(), 0);
            for (std::size_t e = 0; e < mean.size(); ++e) mean[e] += one[e] / 4;
          }
          if (!(relative_error(values[g], mean) < 1e-2)) return "g" + std::to_string(g) + " is not at the mean";
        }
        return "";
      },
      "ucx:tcp");
  if (lacks_ucx(complaints)) return;
  CHECK(complaints == "");
}
