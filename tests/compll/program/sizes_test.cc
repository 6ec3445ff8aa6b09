// SPDX-License-Identifier: Apache-2.0
//
// Sizes of large gradients: computed in 64 bits, compiled as interpreted, and refused beyond what a codec has.
#include <catch2/catch.hpp>

#include "compll/codec/element_limit.h"
#include "compll/codec/generated_codec.h"
#include "compll/codec/written.h"
#include "compll/lang/element_count.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_scattered_blocks();

namespace {

constexpr Elements kLarge[] = {kMostElements, kMostElements - 1, 42949673, 429496730, (Elements{1} << 30) + 7};

/// Elements of an array whose size is this formula.
Elements count_of(const std::string& formula, Elements n, const std::string& parameters = "") {
  const Written written =
      from_text("x", parameters + "void encode(float* g, uint8* c) { uint* p = largest(g, " + formula +
                         "); c = concat(p); }\nvoid decode(uint8* c, float* g) { uint* p; extract(c, p); "
                         "g = scatter(p, 1.0, g.size); }\n");
  return element_count(*written.program, written.program->sections.front().type, written.codec->info().values, n);
}

}  // namespace

TEST_CASE("sizes: products, sums and shifts of the number of elements do not wrap") {
  for (const Elements n : kLarge) {
    INFO(n);
    CHECK(count_of("g.size * 100 / 1000", n) == n * 100 / 1000);
    CHECK(count_of("(g.size + 63) / 64", n) == (n + 63) / 64);
    CHECK(count_of("(g.size << 4) >> 6", n) == (n << 4) >> 6);
    CHECK(count_of("g.size * k / 1000000", n, "param { uint k = 999983 in 1..1000000; }\n") == n * 999983 / 1000000);
    CHECK(count_of("selected(0.5, g.size)", n) == (n + 1) / 2);
    CHECK(count_of("uint(g.size * 0.25)", n) == static_cast<Elements>(static_cast<float>(n) * 0.25f));
  }
}

TEST_CASE("sizes: operations mean what they mean for elements") {
  CHECK(count_of("g.size - 20", 10) == 10);  // wraps around, and is above n
  CHECK(count_of("10 / (g.size - g.size)", 100) == 0);
  CHECK(count_of("uint8(300)", 1000) == 255);
  CHECK(count_of("int(g.size) - 1000", 100) == 0);
  CHECK(count_of("g.size % 7", 100) == 2);
  CHECK(count_of("g.size > 50 ? 3 : 4", 100) == 3);
  CHECK(count_of("uint(sqrt(g.size))", 100) == 10);
  CHECK(count_of("min(5, g.size)", 3) == 3);
  CHECK(count_of("~0 & 12", 100) == 12);
  CHECK(count_of("bits(1.0) >> 23", 1000) == 127);
  CHECK(count_of("uint(1.0 / 0)", 1000) == 1000);
}

TEST_CASE("sizes: compiled codecs have the interpreter's bounds, also of the largest vectors") {
  for (const GeneratedCodec* codec : written_codecs()) {
    const std::unique_ptr<Codec> meaning = from_source(codec->declares.name).codec;
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*codec);
    REQUIRE(generated.status().text() == "OK");
    for (const Elements n : kLarge) {
      INFO(codec->declares.name << ", " << n << " elements");
      CHECK((*generated)->encoded_bound(n) == meaning->encoded_bound(n));
    }
  }
  const std::unique_ptr<Codec> meaning = from_text("scattered_blocks", test_program("scattered_blocks")).codec;
  const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*generated_scattered_blocks());
  REQUIRE(generated.status().text() == "OK");
  for (const Elements n : kLarge) {
    CHECK((*generated)->encoded_bound(n) == meaning->encoded_bound(n));
    CHECK((*generated)->encoded_bound(n) > n / 10 * 4);
  }
}

TEST_CASE("sizes: more elements than a codec has are refused") {
  const std::unique_ptr<Codec> topk = codec_of("topk"), none = codec_of("none");
  CHECK(check_elements(topk->info(), kMostElements).is_ok());
  const Status refused = check_elements(topk->info(), kMostElements + 1);
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK(
      refused.message() ==
      "`elements` is 2147483649, codec `topk` encodes at most 2^31 at a time: give a larger gradient more partitions");
  CHECK(check_elements(none->info(), kMostElements + 1).is_ok());
  CHECK_FALSE(check_elements(none->info(), (Elements{1} << 40) + 1).is_ok());
}

}  // namespace casync::compll
