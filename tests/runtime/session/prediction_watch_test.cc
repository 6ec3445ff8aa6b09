// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/prediction_watch.h"

#include <catch2/catch.hpp>

namespace casync::runtime {
namespace {

constexpr Prediction kPrediction{
    .step_s = 0.1, .training_s = 0.08, .encode_s = 0.004, .merge_s = 0.002, .decode_s = 0.002};

/// Returns the sentences of 200 steps, each of which takes so long. `from`: the first step of a session that goes on
/// from a checkpoint.
std::vector<std::string> said(double step_s, double training_s, double encode_s, std::uint32_t first_step = 0,
                              std::uint32_t from = 0) {
  PredictionWatch watch(kPrediction, first_step);
  std::vector<std::string> sentences;
  Spent spent;
  for (std::uint32_t step = 0; step < 200; ++step) {
    spent.encode_s += encode_s;
    spent.merge_s += 0.002;
    spent.decode_s += 0.002;
    // The first steps are slow, and so is each tenth.
    const double slow = step < 3 || from + step < first_step || step % 10 == 2 ? 1 : 0;
    const auto sentence = watch.step_ended(from + step, step_s + slow, training_s + slow, spent);
    if (sentence) sentences.push_back(*sentence);
  }
  return sentences;
}

TEST_CASE("a step within a fifth of its prediction is nothing to speak of") {
  CHECK(said(0.1, 0.08, 0.004).empty());
  CHECK(said(0.119, 0.08, 0.004).empty());
  CHECK(said(0.081, 0.08, 0.004).empty());
}

TEST_CASE("a step that is further off says so once, and names the term") {
  const std::vector<std::string> slow_codec = said(0.13, 0.08, 0.034);
  REQUIRE(slow_codec.size() == 1);
  CHECK(slow_codec[0].find("130.000 ms, the plan's prediction was 100.000 (+30 %)") != std::string::npos);
  CHECK(slow_codec[0].find("encode takes 34.000 ms, predicted were 4.000") != std::string::npos);
  const std::vector<std::string> slow_training = said(0.15, 0.13, 0.004);
  REQUIRE(slow_training.size() == 1);
  CHECK(slow_training[0].find("training takes 130.000 ms, predicted were 80.000") != std::string::npos);
  const std::vector<std::string> slow_network = said(0.2, 0.08, 0.005);
  REQUIRE(slow_network.size() == 1);
  CHECK(slow_network[0].find("the network does") != std::string::npos);
  const std::vector<std::string> fast = said(0.07, 0.05, 0.004);
  REQUIRE(fast.size() == 1);
  CHECK(fast[0].find("(-30 %): training") != std::string::npos);
}

TEST_CASE("steps of the warm-up are not what was predicted") {
  CHECK(said(0.1, 0.08, 0.004, 60).empty());
  CHECK(said(0.1, 0.08, 0.004, 500).empty());
}

TEST_CASE("a session that goes on from a checkpoint settles first, too, and its warm-up is over") {
  CHECK(said(0.1, 0.08, 0.004, 60, 1000).empty());
  CHECK(said(0.13, 0.08, 0.034, 60, 1000).size() == 1);
}

TEST_CASE("the mean of a round of local SGD is what was predicted") {
  const auto said_of = [](double exchange_s) {
    PredictionWatch watch(kPrediction, 0, 4);
    std::vector<std::string> sentences;
    Spent spent;
    for (std::uint32_t step = 0; step < 400; ++step) {
      const bool exchanges = step % 4 == 3;
      if (exchanges) spent.encode_s += 0.016, spent.merge_s += 0.008, spent.decode_s += 0.008;
      const auto sentence = watch.step_ended(step, 0.08 + (exchanges ? exchange_s : 0), 0.08, spent);
      if (sentence) sentences.push_back(*sentence);
    }
    return sentences;
  };
  CHECK(said_of(0.08).empty());  // 0.1 s in the mean
  REQUIRE(said_of(0.4).size() == 1);
  CHECK(said_of(0.4)[0].find("180.000 ms") != std::string::npos);
}

TEST_CASE("a plan that predicts nothing is not far from anything") {
  PredictionWatch watch(Prediction{}, 0);
  for (std::uint32_t step = 0; step < 200; ++step) CHECK_FALSE(watch.step_ended(step, 0.1, 0.1, {}));
}

}  // namespace
}  // namespace casync::runtime
