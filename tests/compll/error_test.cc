// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

constexpr Elements kMany = 1 << 20;

double error_of(const std::string& name, const Parameters& parameters, std::span<const float> x) {
  return relative_error(x, round_trip(*codec_of(name, parameters), x));
}

}  // namespace

TEST_CASE("error: the mean squared error of block formats is that of theory") {
  const std::vector<float> normal = gaussian(kMany, 1), heavy = laplace(kMany, 2);
  struct Row {
    const char* name;
    double block, of_normal, of_heavy;
  };
  for (const Row& row :
       {Row{"int8", 128, 4.2e-5, 8.0e-5}, Row{"int8", 2048, 6.9e-5, 1.8e-4}, Row{"int4", 32, 0.0094, 0.0147},
        Row{"int4", 128, 0.0138, 0.0258}, Row{"int4", 512, 0.0182, 0.0398}, Row{"int4", 2048, 0.0227, 0.0564}}) {
    INFO(row.name << ", block " << row.block);
    CHECK(error_of(row.name, {{"block", row.block}}, normal) == Approx(row.of_normal).epsilon(0.03));
    CHECK(error_of(row.name, {{"block", row.block}}, heavy) == Approx(row.of_heavy).epsilon(0.03));
  }
  CHECK(error_of("onebit", {}, normal) == Approx(0.364).epsilon(0.03));
  CHECK(error_of("onebit", {}, heavy) == Approx(0.500).epsilon(0.03));
}

TEST_CASE("error: rounding moves no element by more than half a level") {
  for (const auto& [name, most] : {std::pair<const char*, float>{"int8", 127.0f}, {"int4", 7.0f}}) {
    const auto codec = codec_of(name);
    for (const Input& input : inputs(4099)) {
      if (!input.finite) continue;
      INFO(name << ", " << input.name);
      const std::vector<float> decoded = round_trip(*codec, input.values);
      const Elements block = codec->info().block;
      for (Elements b = 0; b < input.values.size(); b += block) {
        const Elements end = std::min(b + block, input.values.size());
        double top = 0, worst = 0;
        for (Elements i = b; i < end; ++i) {
          top = std::max<double>(top, std::fabs(input.values[i]));
          worst = larger_error(worst, std::fabs(static_cast<double>(input.values[i]) - decoded[i]));
        }
        if (top < 1e-34) continue;  // a block of zeros: nothing is sent
        CHECK(worst <= 0.5 * top / most * (1 + 1e-5));
      }
    }
  }
}

TEST_CASE("error: half formats are within half a unit in the last place") {
  const std::vector<float> x = gaussian(kMany, 3);
  const std::vector<float> bf16 = round_trip(*codec_of("bf16"), x), fp16 = round_trip(*codec_of("fp16"), x);
  double worst_bf16 = 0, worst_fp16 = 0;
  for (Elements i = 0; i < kMany; ++i) {
    const double magnitude = std::fabs(x[i]);
    worst_bf16 = larger_error(worst_bf16, std::fabs(static_cast<double>(x[i]) - bf16[i]) / magnitude);
    if (magnitude <= 1e-4) continue;
    worst_fp16 = larger_error(worst_fp16, std::fabs(static_cast<double>(x[i]) - fp16[i]) / magnitude);
  }
  CHECK(worst_bf16 <= std::ldexp(1.0, -8));
  CHECK(worst_bf16 > std::ldexp(1.0, -9));
  CHECK(worst_fp16 <= std::ldexp(1.0, -11));
  CHECK(worst_fp16 > std::ldexp(1.0, -12));
}

TEST_CASE("error: onebit loses exactly what its two means do not explain") {
  for (Elements n : {Elements{1}, Elements{64}, Elements{2048}, Elements{65537}}) {
    const auto codec = codec_of("onebit");
    for (const std::vector<float>& x : {gaussian(n, 1), laplace(n, 2)}) {
      const std::vector<float> decoded = round_trip(*codec, x);
      double norm = 0, explained = 0, error = 0;
      for (Elements i = 0; i < n; ++i) {
        norm += static_cast<double>(x[i]) * x[i];
        explained += static_cast<double>(decoded[i]) * decoded[i];
        error += std::pow(static_cast<double>(x[i]) - decoded[i], 2);
      }
      INFO("n " << n);
      CHECK(error == Approx(norm - explained).epsilon(1e-5).margin(1e-6 * norm));
    }
  }
}

TEST_CASE("error: each of the usual codecs under feedback is contractive on every input") {
  for (Elements n : sizes()) {
    for (const Input& input : inputs(n)) {
      if (!input.finite) continue;
      for (const auto& codec : all_codecs()) {
        if (!codec->info().feedback) continue;
        REQUIRE(codec->info().contractive);
        double norm = 0;
        for (float value : input.values) norm += static_cast<double>(value) * value;
        if (norm < 1e-60) continue;
        INFO(title(*codec) << ", " << input.name << ", n " << n);
        CHECK(relative_error(input.values, round_trip(*codec, input.values)) < 1);
      }
    }
  }
}

}  // namespace casync::compll
