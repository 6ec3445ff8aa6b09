// SPDX-License-Identifier: Apache-2.0
//
// Codecs of the library with values of parameters that types are made of: compiled when they are asked for.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "compll/codec/payload.h"
#include "compll/codec/registry.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"
#include "tests/environment/scoped_variable.h"

namespace casync::compll {

TEST_CASE("variants: minmax of every width has the interpreter's bytes, and as many bits as it says") {
  for (const double bits : {1, 2, 8}) {
    const Result<std::unique_ptr<Codec>> codec = make_codec("minmax", {{{"bits", bits}}});
    REQUIRE(codec.status().text() == "OK");
    CHECK((*codec)->info().name == "minmax");
    CHECK((*codec)->info().bits_per_element == Approx(bits + 64.0 / 512));
    const Written meaning = from_source("minmax", {{"bits", bits}});
    for (const Elements n : {0, 1, 17, 511, 512, 513, 5000}) {
      const std::vector<float> x = gaussian(n, 3);
      INFO("bits " << bits << ", n " << n);
      Coded is = encode(**codec, x), should = encode(*meaning.codec, x);
      REQUIRE(is.payload.size() == should.payload.size());
      // They differ in what says whose they are: this one is of a program that was compiled here.
      std::copy_n(should.payload.begin(), kHeaderBytes - sizeof n, is.payload.begin());
      if (n != 0) CHECK(is.payload == should.payload);
    }
  }
}

TEST_CASE("variants: other parameters are taken as well, and the compiled width needs no compiler") {
  const auto two = codec_of("minmax", {{"bits", 2.0}, {"block", 64.0}});
  CHECK(two->info().block == 64);
  const ScopedVariable nowhere("CXX", "/nonexistent/c++");
  CHECK(codec_of("minmax", {{"bits", 4.0}})->info().digest == 0);
  const Result<std::unique_ptr<Codec>> other = make_codec("minmax", {{{"bits", 1.0}, {"block", 48.0}}});
  CHECK_THAT(other.status().text(),
             Catch::Matchers::Contains("minmax.cll: ") && Catch::Matchers::Contains("tried CXX=/nonexistent/c++"));
}

TEST_CASE("variants: a value that is no choice is refused with the choices") {
  CHECK(make_codec("minmax", {{{"bits", 3.0}}}).status().text() ==
        "InvalidArgument: codec `minmax`: parameter `bits` is 3, expected a whole number: 1 or 2 or 4 or 8");
  CHECK_THAT(make_codec("minmax", {{{"bit", 2.0}}}).status().text(),
             Catch::Matchers::Contains("has no parameter `bit` (did you mean `bits`?)"));
}

TEST_CASE("variants: scales and means that no encoder writes are data loss, with blocks of any size") {
  constexpr Elements kMany = 500;
  constexpr float kNoEnd = std::numeric_limits<float>::infinity();
  const std::vector<float> x = gaussian(kMany, 1);
  for (const auto& [name, block] : {std::pair<const char*, double>{"int8", 48}, {"int4", 48}, {"onebit", 80}}) {
    const auto codec = codec_of(name, {{"block", block}});
    INFO(name);
    const Coded coded = encode(*codec, x);
    CHECK(codec->check(coded.view(), kMany).text() == "OK");
    CHECK(std::to_integer<int>(coded.payload[5]) == 4);  // of log2(block): 16 divides both
    CHECK(codec->check(encode(*codec, {}).view(), 0).text() == "OK");
    for (const float wrong : {std::nanf(""), kNoEnd, -1.0f}) {
      Coded broken = coded;
      std::memcpy(broken.payload.data() + kHeaderBytes + 3 * sizeof wrong, &wrong, sizeof wrong);
      INFO(wrong);
      const Status status = codec->check(broken.view(), kMany);
      CHECK(status.code() == StatusCode::kDataLoss);
      CHECK_THAT(status.message(), Catch::Contains("block 3"));
    }
    std::vector<float> not_finite = x;
    not_finite[3] = kNoEnd;
    CHECK(codec->check(encode(*codec, not_finite).view(), kMany).text() == "OK");
  }
}

TEST_CASE("variants: payloads of another width are refused") {
  const std::vector<float> x = gaussian(1000, 3);
  const auto two = codec_of("minmax", {{"bits", 2.0}}), four = codec_of("minmax");
  CHECK(two->check(encode(*two, x).view(), x.size()).is_ok());
  CHECK(two->check(encode(*four, x).view(), x.size()).code() == StatusCode::kDataLoss);
  CHECK(four->check(encode(*two, x).view(), x.size()).code() == StatusCode::kDataLoss);
}

}  // namespace casync::compll
