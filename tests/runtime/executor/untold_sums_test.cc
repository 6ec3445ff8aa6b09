// SPDX-License-Identifier: Apache-2.0
//
// The owner's side where ranks do not step together: what each rank is told.
#include <catch2/catch.hpp>

#include <random>

#include "runtime/executor/untold_sums.h"

namespace casync::runtime {
namespace {

/// No rank is a dedicated server.
std::vector<bool> everybody(int ranks) { return std::vector<bool>(static_cast<std::size_t>(ranks), true); }

std::unique_ptr<compll::Codec> made(const std::string& name,
                                    const std::vector<std::pair<std::string, double>>& parameters = {}) {
  auto codec = compll::make_codec(name, parameters);
  REQUIRE(codec.status().text() == "OK");
  return std::move(*codec);
}

}  // namespace

TEST_CASE("untold sums: a rank's answers, its residual and its sum are together all contributions") {
  constexpr int kRanks = 3;
  constexpr Elements kCount = 500;
  constexpr float kScale = 1.0f / kRanks;
  for (const auto& [name, residuals] : {std::pair("none", false), {"onebit", true}, {"topk", true}}) {
    INFO(name);
    const auto first = made("none"), second = made(name);
    UntoldSums sums(kRanks, kCount, residuals);
    std::vector<float> memory(sums.floats());
    sums.lie_at(memory.data());
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<double> contributed(kCount);
    std::vector<std::vector<double>> told(kRanks, std::vector<double>(kCount));
    std::vector<std::byte> payload(second->encoded_bound(kCount));
    std::vector<float> decoded(kCount);
    for (std::uint32_t step = 0; step < 40; ++step) {
      std::vector<float> contribution(kCount);
      for (Elements i = 0; i < kCount; ++i) contributed[i] += contribution[i] = normal(random);
      sums.add(contribution.data());
      const auto rank = static_cast<Rank>(random() % kRanks);
      const compll::Encoded code = sums.answer(rank, *first, *second, kScale, {.step = step}, payload.data());
      CHECK(code.finite);
      second->decode({payload.data(), code.size}, kCount, decoded.data());
      for (Elements i = 0; i < kCount; ++i) told[static_cast<std::size_t>(rank)][i] += decoded[i];
    }
    // Levelled sums say what ranks have not been told on average.
    sums.level(everybody(kRanks));
    std::vector<float> left(sums.state_floats());
    sums.read(left.data());
    std::size_t wrong = 0;
    for (Elements i = 0; i < kCount; ++i) {
      double mean = kScale * static_cast<double>(left[i]) + (residuals ? left[kCount + i] : 0);
      for (const std::vector<double>& one : told) mean += one[i] / kRanks;
      wrong += !(std::abs(mean - kScale * contributed[i]) < 1e-4);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("untold sums: after a contribution that is not finite each rank gets zeros once, and later what it missed") {
  const auto none = made("none");
  UntoldSums sums(2, 3, false);
  std::vector<float> memory(sums.floats());
  sums.lie_at(memory.data());
  const std::vector<float> contribution = {1, -2, 3};
  std::vector<float> got(3);
  const auto answer = [&](Rank rank) {
    return sums.answer(rank, *none, *none, 0.5f, {}, reinterpret_cast<std::byte*>(got.data()));
  };
  sums.add(contribution.data());
  sums.leave_out();
  CHECK(!answer(0).finite);
  CHECK((got[0] == 0 && got[1] == 0 && got[2] == 0));
  CHECK(answer(0).finite);
  CHECK(got == std::vector<float>{0.5f, -1, 1.5f});
  CHECK(!answer(1).finite);
  CHECK(answer(1).finite);
  CHECK(got == std::vector<float>{0.5f, -1, 1.5f});
  CHECK(answer(1).finite);
  CHECK(got == std::vector<float>{0, 0, 0});
}

}  // namespace casync::runtime
