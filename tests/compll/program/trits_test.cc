// SPDX-License-Identifier: Apache-2.0
//
// Elements of -1, 0 and 1: five in a byte, the same from interpreted and from compiled programs.
#include <algorithm>
#include <catch2/catch.hpp>

#include "compll/codec/generated_codec.h"
#include "compll/codegen/cuda/tiles.h"
#include "compll/codegen/cuda/vector.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/pair.h"
#include "tests/compll/program/said.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_trits();
extern "C" const GeneratedCodec* generated_trits_vector();

namespace {

const std::string kPlain = R"(
void encode(float* gradient, uint8* compressed) {
  trit* codes = map(gradient, [&](float x) -> trit { return x; });
  compressed = concat(codes);
}
void decode(uint8* compressed, float* gradient) {
  trit* codes;
  extract(compressed, codes);
  gradient = map(codes, [&](trit t) -> float { return t; });
}
)";

/// All results of a codec for these values, one after the other.
std::vector<std::byte> made_of(const Codec& codec, const std::vector<float>& values) {
  const Elements n = values.size();
  const std::vector<float> before = laplace(n, 7);
  Coded coded = encode(codec, values, before);
  CHECK(codec.check(coded.view(), n).text() == "OK");
  std::vector<float> floats = decode(codec, coded, n);
  floats.insert(floats.end(), coded.residual.begin(), coded.residual.end());
  std::vector<std::byte> all = coded.payload;
  const Contribution terms[] = {{coded.view(), nullptr}, {{}, values.data()}, {coded.view(), nullptr}};
  std::vector<float> after(n);
  std::vector<std::byte> merged(coded.payload.size());
  codec.merge(terms, n, 0.5f, codec, {before.data(), after.data(), n}, {3, 4, 5, 0}, merged.data());
  all.insert(all.end(), merged.begin(), merged.end());
  floats.insert(floats.end(), after.begin(), after.end());
  const auto bytes = std::as_bytes(std::span<const float>(floats));
  all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}

/// All five elements of -1, 0 and 1 there are, one after the other, and the byte of each five.
std::vector<float> all_patterns() {
  std::vector<float> values;
  for (unsigned byte = 0; byte < 243; ++byte) {
    for (const unsigned place : {1u, 3u, 9u, 27u, 81u}) {
      const unsigned digit = byte / place % 3;
      values.push_back(digit == 2 ? -1.0f : static_cast<float>(digit));
    }
  }
  return values;
}

}  // namespace

TEST_CASE("trits: every five elements are the byte that the documentation says, and come back") {
  const std::vector<float> values = all_patterns();
  const Pair pair = pair_of(*generated_trits());
  const Coded coded = encode(*pair.meaning, values);
  constexpr std::size_t kSign = 112;  // after the header, 19 scales and one trit
  for (unsigned byte = 0; byte < 243; ++byte) {
    REQUIRE(std::to_integer<unsigned>(coded.payload[kSign + byte]) == byte);
  }
  const auto plain = from_text("plain", kPlain).codec;
  CHECK(same_bytes(round_trip(*plain, values), values));
  for (const std::string& set : instruction_sets(pair.generated->info().name)) {
    const UseInstructionSet used(set);
    INFO(set);
    CHECK(encode(*pair.generated, values).payload == coded.payload);
  }
}

TEST_CASE("trits: the bytes of a section") {
  const auto plain = from_text("plain", kPlain).codec;
  CHECK(plain->info().bits_per_element == Approx(1.6));
  for (Elements n = 1; n <= 30; ++n) CHECK(plain->encoded_bound(n) == 16 + (n + 4) / 5);
  CHECK(plain->encoded_bound(0) == 16);
}

TEST_CASE("trits: compiled code gives the interpreter's bytes, wherever tiles and blocks end") {
  std::vector<Elements> sizes = {15, 16, 17, 31, 63, 65, 79, 80, 81, 1023, 1025, 4095, 4096, 4097, 8211, 20011};
  for (Elements n = 0; n <= 11; ++n) sizes.push_back(n);
  std::vector<Pair> pairs;
  for (const double block : {16.0, 64.0, 4096.0}) pairs.push_back(pair_of(*generated_trits(), {{"block", block}}));
  pairs.push_back(pair_of(*generated_trits_vector()));
  for (const Pair& pair : pairs) {
    CHECK(pair.generated->info().bits_per_element == Approx(pair.meaning->info().bits_per_element));
    for (const Elements n : sizes) {
      for (const std::vector<float>& values : {gaussian(n, 3), laplace(n, 4), std::vector<float>(n, -1.0f)}) {
        INFO(title(*pair.meaning) << ", " << n << " elements");
        CHECK(pair.generated->encoded_bound(n) == pair.meaning->encoded_bound(n));
        const std::vector<std::byte> expected = made_of(*pair.meaning, values);
        for (const std::string& set : instruction_sets(pair.generated->info().name)) {
          const UseInstructionSet used(set);
          INFO(set);
          CHECK(made_of(*pair.generated, values) == expected);
        }
      }
    }
  }
}

TEST_CASE("trits: bytes that are no five trits, and trits behind the last one, are refused") {
  const Pair pair = pair_of(*generated_trits());
  for (const Codec* codec : {pair.meaning.get(), pair.generated.get()}) {
    const Elements n = 64 * 5 + 3;  // 6 scales, then `side`, `sign` and `other`
    const Coded coded = encode(*codec, gaussian(n, 5));
    const std::size_t side = 48, sign = 64, last = sign + (n + 4) / 5 - 1;
    const auto said = [&](std::size_t at, unsigned byte) {
      Coded changed = coded;
      changed.payload[at] = static_cast<std::byte>(byte);
      decode(*codec, changed, n);  // any bytes change nothing but the gradient
      return codec->check(changed.view(), n).text();
    };
    for (std::size_t at = sign; at < last; ++at) {
      CHECK(said(at, 242) == "OK");
      for (const unsigned byte : {243u, 244u, 255u}) {
        CHECK(said(at, byte) == "DataLoss: payload: a byte of section 2 is above 242, which are no five trits");
      }
    }
    CHECK(said(last, 26) == "OK");
    CHECK(said(last, 27) == "DataLoss: payload: the trits behind section 2 are not zero");
    CHECK(said(last, 243) == "DataLoss: payload: a byte of section 2 is above 242, which are no five trits");
    CHECK(said(side, 2) == "OK");
    CHECK(said(side, 3) == "DataLoss: payload: the trits behind section 1 are not zero");
    CHECK(said(last + 1, 1) == "DataLoss: payload: the bytes before section 3 are not zero");
  }
}

TEST_CASE("trits: wrong types are refused") {
  const std::string rest = "compressed = concat(g);\n}\nvoid decode(uint8* c, float* g) { extract(c, g); }\n";
  const auto said = [&](const std::string& line) {
    return first_said("void encode(float* g, uint8* compressed) {\n" + line + "\n" + rest);
  };
  CHECK(said("trit* y = map(g, [&](float x) -> trit<2> { return x; });").ends_with(": a width of `trit`"));
  CHECK(said("float* y = map(g, [&](float x) -> float<16> { return x; });").ends_with(": a width of `float`"));
  CHECK(said("trits x = 1;") == "2:1: there is no type `trits`");
  CHECK(said("trit x = \"a\";").starts_with("2:"));
}

TEST_CASE("trits: on a GPU their bytes are those of the vector form's tiles, and not of units") {
  for (const std::string& name : {std::string("trits"), std::string("trits_vector")}) {
    const Source source(name + ".cll", test_program(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<CudaVectorForm> vector = cuda_vector_text(*program, source);
    REQUIRE(vector.status().text() == "OK");
    CHECK(vector->text.find(", 5u)") != std::string::npos);
    if (const Result<Lowered> lowered = lower(*program, source); lowered) {
      CHECK(cuda_text(*program, *lowered, source).status().message() ==
            "trits.cll: section `side` has bytes of five trits, which tiles of whole units would share");
    }
  }
}

}  // namespace casync::compll
