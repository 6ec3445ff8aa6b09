// SPDX-License-Identifier: Apache-2.0
//
// The codecs that are written in the language give the bytes of those written by hand.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

struct Made {
  Coded coded;
  std::vector<float> given;
};

Made run(const Codec& codec, const std::vector<float>& values) {
  const std::vector<float> before(values.size(), 0.125f);
  Made made{encode(codec, values, before), {}};
  REQUIRE(codec.check(made.coded.view(), values.size()).text() == "OK");
  made.given = decode(codec, made.coded, values.size());
  return made;
}

void check_same(const Made& a, const Made& b) {
  CHECK(a.coded.payload == b.coded.payload);
  CHECK(a.coded.finite == b.coded.finite);
  CHECK((!a.coded.finite || same_bytes(a.coded.residual, b.coded.residual)));
  CHECK((!a.coded.finite || same_bytes(a.given, b.given)));
}

}  // namespace

TEST_CASE("program: int8 and int4 give the bytes of the codecs written by hand") {
  for (const char* name : {"int8", "int4"}) {
    for (const double block : {32.0, 128.0}) {
      const Written program = from_source(name, {{"block", block}});
      const std::unique_ptr<Codec> hand = codec_of(name, {{"block", block}});
      for (const Elements n : {0, 1, 2, 31, 32, 33, 127, 128, 129, 300}) {
        for (const Input& input : inputs(n)) {
          INFO(name << ", block " << block << ", " << n << " elements, " << input.name);
          check_same(run(*program.codec, input.values), run(*hand, input.values));
        }
      }
    }
  }
}

TEST_CASE("program: bf16 and fp16 give the bytes of the codecs written by hand") {
  for (const char* name : {"bf16", "fp16"}) {
    const Written program = from_source(name);
    const std::unique_ptr<Codec> hand = codec_of(name);
    for (const Elements n : {0, 1, 2, 31, 32, 33, 300}) {
      for (const Input& input : inputs(n)) {
        INFO(name << ", " << n << " elements, " << input.name);
        const Made a = run(*program.codec, input.values), b = run(*hand, input.values);
        // What rounds to infinity is in the codes, and in the flag only of the codec written by hand.
        if (a.coded.finite == b.coded.finite) check_same(a, b);
        CHECK(std::equal(a.coded.payload.begin() + 16, a.coded.payload.end(), b.coded.payload.begin() + 16));
        CHECK((a.coded.finite || !b.coded.finite));
      }
    }
  }
}

TEST_CASE("program: bf16 and fp16 round what lies between two numbers as the codecs written by hand do") {
  for (const auto& [name, rest] : {std::pair<const char*, unsigned>{"bf16", 16}, {"fp16", 13}}) {
    std::vector<float> values;
    // The bits that are cut off at, below and above the half, behind an even and an odd code, for each exponent.
    for (std::uint32_t upper = 0; upper < 1u << (32 - rest); upper += (1u << (23 - rest)) - 1) {
      for (const std::uint32_t cut : {0u, 1u, (1u << (rest - 1)) - 1, 1u << (rest - 1), (1u << (rest - 1)) + 1}) {
        values.push_back(std::bit_cast<float>(upper << rest | cut));
        values.push_back(std::bit_cast<float>((upper ^ 1) << rest | cut));
      }
    }
    INFO(name << ", " << values.size() << " values");
    const Coded a = encode(*from_source(name).codec, values), b = encode(*codec_of(name), values);
    CHECK(a.payload == b.payload);
    CHECK(same_bytes(decode(*from_source(name).codec, a, values.size()), decode(*codec_of(name), b, values.size())));
  }
}

TEST_CASE("program: onebit stands for the means that the codec written by hand has") {
  const Written program = from_source("onebit");
  const std::unique_ptr<Codec> hand = codec_of("onebit");
  for (const Elements n : {1, 63, 64, 2048, 2049, 5000}) {
    for (const Input& input : inputs(n)) {
      if (!input.finite) continue;
      INFO(n << " elements, " << input.name);
      const Made a = run(*program.codec, input.values), b = run(*hand, input.values);
      for (Elements i = 0; i < n; ++i) CHECK(a.given[i] == Approx(b.given[i]).epsilon(1e-6));
    }
  }
}

}  // namespace casync::compll
