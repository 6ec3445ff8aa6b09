// SPDX-License-Identifier: Apache-2.0
//
// The owner's side where ranks do not step together: who is answered when, and what each rank is told.
#include <catch2/catch.hpp>

#include <random>

#include "runtime/executor/answer_batches.h"
#include "runtime/executor/untold_sums.h"

namespace casync::runtime {
namespace {

std::vector<Rank> all(std::span<const Rank> ranks) { return {ranks.begin(), ranks.end()}; }

/// No rank is a dedicated server.
std::vector<bool> everybody(int ranks) { return std::vector<bool>(static_cast<std::size_t>(ranks), true); }

/// Ends the batch, and its answers arrive.
void end(AnswerBatches& batches) {
  batches.finish();
  for (const Rank rank : batches.answered()) batches.left(rank);
}

std::unique_ptr<compll::Codec> made(const std::string& name,
                                    const std::vector<std::pair<std::string, double>>& parameters = {}) {
  auto codec = compll::make_codec(name, parameters);
  REQUIRE(codec.status().text() == "OK");
  return std::move(*codec);
}

}  // namespace

TEST_CASE("answer batches: without a bound a contribution is answered at once, and a batch takes all that came") {
  AnswerBatches batches({}, everybody(3));
  CHECK(!batches.begin());
  batches.contribute(1, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.taken()) == std::vector<Rank>{1});
  CHECK(all(batches.answered()) == std::vector<Rank>{1});
  batches.contribute(2, 0);
  CHECK(!batches.begin());  // one is under way
  end(batches);
  CHECK(batches.answered_step(1) == 0);
  batches.contribute(1, 1);
  batches.contribute(0, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.taken()) == std::vector<Rank>{0, 2, 1});  // by step, then by rank
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 1, 2});
}

TEST_CASE("answer batches: an answer waits for the slowest rank by the bound, and says for whom") {
  AnswerBatches batches({.bound = 1}, everybody(3));
  batches.contribute(0, 0);
  REQUIRE(batches.begin());  // rank 2 is one step behind
  end(batches);
  batches.contribute(0, 1);
  CHECK(!batches.begin());
  batches.contribute(1, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.answered()) == std::vector<Rank>{1});
  end(batches);
  const std::optional<AnswerBatches::Wait> wait = batches.wait_of(0);
  REQUIRE(wait);
  CHECK(wait->slowest == 2);
  CHECK(wait->steps == 0);
  CHECK(wait->step == 1);
  CHECK(!batches.wait_of(1));
  batches.contribute(2, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 2});
  end(batches);
  batches.contribute(0, 2);
  batches.contribute(1, 1);
  REQUIRE(batches.begin());
  CHECK(all(batches.answered()) == std::vector<Rank>{1});
  end(batches);
  batches.end(2);  // nobody waits for a rank that has ended
  CHECK(batches.begin());
}

TEST_CASE("answer batches: an answer waits for the first ranks, of any step from its own on") {
  AnswerBatches batches({.bound = std::nullopt, .first = 2}, everybody(3));
  batches.contribute(0, 0);
  CHECK(!batches.begin());
  batches.contribute(1, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 1});
  end(batches);
  batches.contribute(2, 0);
  REQUIRE(batches.begin());  // two ranks are there, or further
  CHECK(all(batches.answered()) == std::vector<Rank>{2});
}

TEST_CASE("answer batches: a rank whose last answer has not left gets no other") {
  AnswerBatches batches({}, everybody(2));
  batches.contribute(0, 0);
  REQUIRE(batches.begin());
  batches.finish();
  batches.contribute(0, 1);
  CHECK(!batches.begin());
  batches.left(0);
  CHECK(batches.begin());
}

TEST_CASE("answer batches: a dedicated server is answered once all others are there, and nobody waits for it") {
  AnswerBatches batches({.bound = 0}, {true, true, false});
  batches.contribute(2, 0);
  CHECK(!batches.begin());
  batches.contribute(0, 0);
  CHECK(!batches.begin());  // rank 1 is not there
  REQUIRE(batches.wait_of(2));
  CHECK(batches.wait_of(2)->slowest == 1);
  batches.contribute(1, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.taken()) == std::vector<Rank>{0, 1});
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 1, 2});
  end(batches);
  batches.contribute(0, 1);
  batches.contribute(1, 1);
  REQUIRE(batches.begin());  // without the server
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 1});
  end(batches);
  batches.end(0);
  batches.end(1);
  batches.contribute(2, 1);
  CHECK(batches.begin());  // all others have ended
}

// The order of additions decides the last bits of a sum.
TEST_CASE("answer batches: where all ranks step together no answer has contributions to a later step") {
  for (const Asynchronous& rule : {Asynchronous{.bound = 0}, Asynchronous{.bound = std::nullopt, .first = 3}}) {
    AnswerBatches batches(rule, {true, true, true, false});
    for (const Rank rank : {0, 1, 2}) batches.contribute(rank, 0);
    REQUIRE(batches.begin());
    batches.finish();  // the answer to rank 0 is still on its way
    batches.left(1);
    batches.left(2);
    for (const Rank rank : {0, 1, 2}) batches.contribute(rank, 1);
    REQUIRE(batches.begin());
    CHECK(all(batches.answered()) == std::vector<Rank>{1, 2});
    end(batches);
    batches.contribute(2, 2);
    batches.left(0);
    REQUIRE(batches.begin());
    CHECK(all(batches.answered()) == std::vector<Rank>{0});
    CHECK(all(batches.taken()).empty());
    end(batches);
    batches.contribute(3, 1);  // a dedicated server
    REQUIRE(batches.begin());
    CHECK(all(batches.answered()) == std::vector<Rank>{3});
    CHECK(all(batches.taken()).empty());
    end(batches);
    batches.contribute(0, 2);
    batches.contribute(1, 2);
    REQUIRE(batches.begin());
    CHECK(all(batches.taken()) == std::vector<Rank>{0, 1, 2});
  }
}

TEST_CASE("answer batches: a dedicated server is none of the first ranks") {
  AnswerBatches batches({.bound = std::nullopt, .first = 2}, {true, true, false});
  batches.contribute(2, 0);
  batches.contribute(0, 0);
  CHECK(!batches.begin());
  batches.contribute(1, 0);
  CHECK(batches.begin());
}

TEST_CASE("untold sums: of each rank, what it was told, its residual and its sum are all contributions") {
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
    double most = 0;
    for (Elements i = 0; i < kCount; ++i) {
      double mean = kScale * static_cast<double>(left[i]) + (residuals ? left[kCount + i] : 0);
      for (const std::vector<double>& one : told) mean += one[i] / kRanks;
      most = std::max(most, std::abs(mean - kScale * contributed[i]));
    }
    CHECK(most < 1e-4);
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
