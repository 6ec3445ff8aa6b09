// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

constexpr Elements kElements = 3001;
constexpr int kSteps = 1000;

// ||sum of gradients - (sum of what was applied + residual)|| / ||sum of gradients|| after kSteps steps.
double lost(const Codec& codec, bool feedback) {
  std::vector<double> given(kElements, 0), applied(kElements, 0);
  std::vector<float> residual(kElements, 0.0f), out(kElements);
  const std::vector<float> mean = gaussian(kElements, 1);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> gradient = laplace(kElements, static_cast<std::uint32_t>(step + 2));
    for (Elements i = 0; i < kElements; ++i) gradient[i] += mean[i];
    const Coded coded = encode(codec, gradient, feedback ? std::span<const float>(residual) : std::span<const float>());
    codec.decode(coded.view(), kElements, out.data());
    if (feedback) residual = coded.residual;
    for (Elements i = 0; i < kElements; ++i) {
      given[i] += gradient[i];
      applied[i] += out[i];
    }
  }
  double difference = 0, norm = 0;
  for (Elements i = 0; i < kElements; ++i) {
    difference += std::pow(given[i] - applied[i] - residual[i], 2);
    norm += given[i] * given[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace

TEST_CASE("feedback: applied elements and the residual are together the given ones, over 1000 steps") {
  for (const char* name : {"int8", "int4", "onebit", "bf16", "fp16"}) {
    INFO(name);
    CHECK(lost(*codec_of(name, {{"feedback", 1}}), true) < 1e-5);
  }
}

TEST_CASE("feedback: without it the same measure notices the loss") {
  for (const char* name : {"int8", "int4", "onebit"}) {
    INFO(name);
    CHECK(lost(*codec_of(name, {{"feedback", 0}}), false) > 1e-4);
  }
}

TEST_CASE("feedback: the residual stays bounded") {
  for (const char* name : {"int8", "int4", "onebit"}) {
    INFO(name);
    const auto codec = codec_of(name);
    std::vector<float> residual(kElements, 0.0f);
    for (int step = 0; step < kSteps; ++step) {
      residual = encode(*codec, gaussian(kElements, static_cast<std::uint32_t>(step)), residual).residual;
    }
    double squares = 0;
    for (float value : residual) squares += static_cast<double>(value) * value;
    CHECK(std::sqrt(squares / kElements) < 8);
  }
}

}  // namespace casync::compll
