// SPDX-License-Identifier: Apache-2.0
//
// The formats of 16 bits as programs round as the plain loops do. Other tests check that they are compiled to the same
// ones.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/compll/support/programs.h"
#include "tests/compll/support/reference_codec.h"

namespace casync::compll {

TEST_CASE("program: bf16 and fp16 round what lies between two numbers to the nearest, ties to even") {
  for (const auto& [name, rest] : {std::pair<const char*, unsigned>{"bf16", 16}, {"fp16", 13}}) {
    std::vector<float> values;
    // The bits that are cut off at, below and above the half, after an even and an odd code, for each exponent.
    for (std::uint32_t upper = 0; upper < 1u << (32 - rest); upper += (1u << (23 - rest)) - 1) {
      for (const std::uint32_t cut : {0u, 1u, (1u << (rest - 1)) - 1, 1u << (rest - 1), (1u << (rest - 1)) + 1}) {
        values.push_back(std::bit_cast<float>(upper << rest | cut));
        values.push_back(std::bit_cast<float>((upper ^ 1) << rest | cut));
      }
    }
    INFO(name << ", " << values.size() << " values");
    const Written program = from_source(name);
    CHECK(encode(*program.codec, values).payload == reference_encode(program.codec->info(), values).payload);
  }
}

TEST_CASE("program: elements that bf16 and fp16 round to infinity are not finite, and their neighbours are") {
  for (const auto& [name, least] : {std::pair<const char*, std::uint32_t>{"bf16", 0x7f7f8000}, {"fp16", 0x477ff000}}) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const std::vector<float> becomes = {1.0f, std::bit_cast<float>(sign | least)};
      const std::vector<float> stays = {1.0f, std::bit_cast<float>(sign | (least - 1))};
      const Written program = from_source(name);
      const std::unique_ptr<Codec> compiled = codec_of(name);
      INFO(name << ", sign " << sign);
      for (const Codec* codec :
           {static_cast<const Codec*>(program.codec.get()), static_cast<const Codec*>(compiled.get())}) {
        CHECK_FALSE(encode(*codec, becomes).finite);
        CHECK(std::isinf(round_trip(*codec, becomes)[1]));
        CHECK(encode(*codec, stays).finite);
        CHECK(std::isfinite(round_trip(*codec, stays)[1]));
      }
    }
  }
}

TEST_CASE("program: a block of onebit that is not finite decodes to NaN throughout") {
  for (const float wrong : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
    std::vector<float> values(128, -1.0f);
    values[70] = wrong;
    const Written program = from_source("onebit", {{"block", 64}});
    const std::vector<float> given = round_trip(*program.codec, values);
    for (Elements i = 0; i < values.size(); ++i) CHECK(std::isnan(given[i]) == (i >= 64));
  }
}

}  // namespace casync::compll
