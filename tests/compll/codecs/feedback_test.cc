// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

constexpr Elements kElements = 67;
constexpr int kSteps = 1000;

/// The states of a codec, zeros: its residual ahead of the others.
std::vector<float> no_states(const Codec& codec) {
  return std::vector<float>(std::max<std::size_t>(codec.info().states, 1) * kElements, 0.0f);
}

/// ||sum of gradients - (sum of what was applied + residual)|| / ||sum of gradients|| after kSteps steps.
double lost(const Codec& codec, bool feedback) {
  std::vector<double> given(kElements, 0), applied(kElements, 0);
  std::vector<float> residual = no_states(codec);
  const std::vector<float> mean = gaussian(kElements, 1);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> gradient = laplace(kElements, static_cast<std::uint32_t>(step + 2));
    for (Elements i = 0; i < kElements; ++i) gradient[i] += mean[i];
    const Coded coded = encode(codec, gradient, feedback ? std::span<const float>(residual) : std::span<const float>());
    const std::vector<float> out = decode(codec, coded, kElements);
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

TEST_CASE("codecs: applied elements and the residual are together the given ones, over 1000 steps") {
  int tried = 0;
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    if (!written.program->declares.feedback) continue;
    INFO(name);
    CHECK(written.codec->info().feedback);
    CHECK(lost(*written.codec, true) < 1e-5);
    ++tried;
  }
  CHECK(tried > 20);
}

TEST_CASE("codecs: without feedback the same measure notices the loss") {
  for (const std::string& name : written_names()) {
    if (!from_source(name).program->declares.feedback) continue;
    INFO(name);
    Parameters parameters = {{"feedback", 0}};
    if (name == "threshold_coded") parameters.emplace_back("tau", 0.5);  // its initial threshold loses next to nothing
    const Written written = from_source(name, parameters);
    CHECK_FALSE(written.codec->info().feedback);
    CHECK(lost(*written.codec, false) > 1e-4);
  }
}

TEST_CASE("codecs: the residual of what is contractive stays bounded") {
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    if (!written.codec->info().feedback || !written.program->declares.contractive) continue;
    std::vector<float> residual = no_states(*written.codec);
    for (int step = 0; step < kSteps / 2; ++step) {
      const auto number = static_cast<std::uint32_t>(step);
      residual = encode(*written.codec, gaussian(kElements, number), residual, {0, 0, number, 0}).residual;
    }
    INFO(name);
    CHECK(std::sqrt(norm_squared(residual) / kElements) < 8);
  }
}

TEST_CASE("codecs: what is kept of a gradient is finite wherever its payload says that the gradient is") {
  const auto lost_for_ever = [](const Codec& codec) {
    std::ptrdiff_t found = 0;
    for (const Elements n : {1, 2, 67, 1000}) {
      for (const Input& input : inputs(n)) {
        const Coded coded = encode(codec, input.values);
        if (!coded.finite) continue;  // none of it is kept
        found += std::count_if(coded.residual.begin(), coded.residual.end(), [](float x) { return !std::isfinite(x); });
      }
    }
    return found;
  };
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    if (!written.program->declares.feedback) continue;
    INFO(name);
    CHECK(lost_for_ever(*written.codec) == 0);
  }
  for (const char* name : {"rht4", "drive", "sketch", "sketch_median"}) {
    INFO(name);
    const std::string unbounded = changed(source_of(name), "  overflow 6.64613997892458e35;\n", "");
    CHECK(lost_for_ever(*from_text(name, unbounded).codec) > 0);
  }
}

TEST_CASE("codecs: tbq keeps less than its threshold of gradients that never exceed it") {
  const float tau = 0.25f;
  const Written written = from_source("tbq", {{"tau", tau}});
  std::vector<float> residual(kElements, 0.0f);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> gradient = gaussian(kElements, static_cast<std::uint32_t>(step));
    for (float& value : gradient) value = std::clamp(value * tau / 2, -tau, tau);
    residual = encode(*written.codec, gradient, residual).residual;
    REQUIRE(std::all_of(residual.begin(), residual.end(), [&](float kept) { return std::fabs(kept) < tau; }));
  }
}

}  // namespace casync::compll
