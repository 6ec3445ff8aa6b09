// SPDX-License-Identifier: Apache-2.0
//
// Merges that go by the words of payloads: of which programs, and that the bytes are those of the elements.
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "compll/codec/generated_codec.h"
#include "compll/codec/merge_bits.h"
#include "compll/ir/tiles/bit_merge.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/pair.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_drawn_signs();
extern "C" const GeneratedCodec* generated_mean_signs();
extern "C" const GeneratedCodec* generated_signsgd();
extern "C" const GeneratedCodec* generated_two_values();

namespace {

constexpr Elements kFew = 4095;  // fewer are merged one by one
constexpr Elements kMany = 40011;

bool merges_bits(const std::string& text) {
  const Source source("x.cll", text);
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<Lowered> lowered = lower(*program, source);
  REQUIRE(lowered.status().text() == "OK");
  return merges_bits(*program, *lowered);
}

/// A program of one scalar and one bit for each element.
std::string signs(const std::string& scale, const std::string& code,
                  const std::string& decoded = "b == 1 ? scale : -scale") {
  return "void encode(float* gradient, uint8* compressed) {\n"
         "  float scale = " +
         scale + ";\n  uint1* code = map(gradient, range(gradient.size), [&](float x, uint i) -> uint1 { return " +
         code +
         "; });\n"
         "  compressed = concat(scale, code);\n}\n"
         "void decode(uint8* compressed, float* gradient) {\n"
         "  float scale;\n  uint1* code;\n  extract(compressed, scale, code);\n"
         "  gradient = map(code, range(code.size), [&](uint1 b, uint i) -> float { return " +
         decoded + "; });\n}\n";
}

const TileCodec& tiles(const Pair& pair) { return dynamic_cast<const TileCodec&>(*pair.generated); }

using Payload = std::vector<std::byte>;

/// Contributions of n elements each; element(contribution, place) gives the elements of all of them.
using Element = std::function<float(std::size_t, Elements)>;
std::vector<Payload> payloads_of(const Codec& codec, std::size_t count, Elements n, const Element& element) {
  std::vector<Payload> all;
  for (std::size_t c = 0; c < count; ++c) {
    std::vector<float> values(n);
    for (Elements i = 0; i < n; ++i) values[i] = element(c, i);
    all.push_back(encode(codec, values).payload);
  }
  return all;
}

std::vector<Contribution> terms_of(const std::vector<Payload>& payloads) {
  std::vector<Contribution> terms;
  terms.reserve(payloads.size());
  for (const Payload& payload : payloads) terms.push_back({{payload.data(), payload.size()}, nullptr});
  return terms;
}

void set_scalar(Payload& payload, std::size_t at, float value) { std::memcpy(payload.data() + at, &value, 4); }

struct Merged {
  Payload payload;
  bool finite = true;

  bool operator==(const Merged&) const = default;
};

Merged merge(const Codec& first, const std::vector<Payload>& payloads, Elements n, float scale, const Codec& second,
             Residual residual = {}) {
  // Bytes that nobody writes show up as 0xa5.
  Merged merged{Payload(second.encoded_bound(n), std::byte{0xa5}), true};
  merged.finite =
      first.merge(terms_of(payloads), n, scale, second, residual, {5, 6, 7, 0}, merged.payload.data()).finite;
  return merged;
}

/// A merge that keeps something goes element by element.
Merged merge_elements(const Codec& first, const std::vector<Payload>& payloads, Elements n, float scale,
                      const Codec& second) {
  std::vector<float> residual(n);
  return merge(first, payloads, n, scale, second, {nullptr, residual.data(), n});
}

/// Returns true if the merge goes by words.
bool by_words(const Pair& first, const std::vector<Payload>& payloads, Elements n, float scale, const Pair& second) {
  Payload payload(second.generated->encoded_bound(n));
  return merge_bits(tiles(first), terms_of(payloads), n, scale, tiles(second), {}, {}, payload.data()).has_value();
}

/// Elements as they come, all alike, one that is another at the very end, and runs: few or many combinations of bits.
std::vector<std::pair<std::string, Element>> kinds(Elements n) {
  static const std::vector<float> drawn = gaussian(8 * kMany, 3);
  return {{"drawn", [](std::size_t c, Elements i) { return drawn[c * kMany + i]; }},
          {"the same", [](std::size_t, Elements i) { return drawn[i]; }},
          {"negative", [](std::size_t c, Elements) { return -1.0f - static_cast<float>(c); }},
          {"one at the end",
           [n](std::size_t c, Elements i) {
             return i + 1 == n ? 2.0f : c == 1 ? 0.25f : -0.5f - static_cast<float>(c);
           }},
          {"runs", [](std::size_t c, Elements i) { return (i / 700 >> c) % 2 == 0 ? 1.0f : -3.0f; }}};
}

}  // namespace

TEST_CASE(
    "bit merge: programs whose code is a bit of its own element have it, and reductions that no kind of elements "
    "changes") {
  const std::string top = "reduce(gradient, magnitude)";
  CHECK(merges_bits(source_of("signsgd")));
  CHECK(merges_bits(signs(top, "x < 0")));
  CHECK(merges_bits(signs("1", "x < 0.5")));
  CHECK(merges_bits(signs("reduce(gradient, max) - reduce(gradient, min)", "x < 0")));
  CHECK(merges_bits(signs("reduce(map(gradient, [&](float x) -> float { return x * x; }), magnitude)", "x < 0")));
  CHECK(merges_bits(signs("reduce(map(gradient, [&](float x) -> int { return x * 9; }), min)", "x < 0")));
  CHECK(merges_bits(signs("reduce(map(gradient, [&](float x) -> float { return x * 0; }), max)", "x < 0")));

  // The scale depends on how often an element is there.
  CHECK_FALSE(merges_bits(signs("reduce(gradient, sum)", "x < 0")));
  CHECK_FALSE(merges_bits(signs("reduce(gradient, count)", "x < 0")));
  CHECK_FALSE(merges_bits(signs(top + " / gradient.size", "x < 0")));
  CHECK_FALSE(merges_bits(signs("reduce(gradient, 0.0, [&](float a, float b) -> float { return a + b; })", "x < 0")));
  // A code depends on the scale.
  CHECK_FALSE(merges_bits(signs(top, "x < scale")));
  // A code or a value depends on a place or a random number.
  CHECK_FALSE(merges_bits(signs(top, "i % 2 == 0 ? x < 0 : x < 1")));
  CHECK_FALSE(merges_bits(signs(top, "x < 0", "i % 2 == 0 && b == 1 ? scale : -scale")));
  CHECK_FALSE(merges_bits(signs(top, "x < random<float>(0, 1)")));
  CHECK_FALSE(merges_bits(
      signs("reduce(map(gradient, [&](float x) -> float { return x * random<float>(0, 1); }), magnitude)", "x < 0")));
  // Codes are wider, there are several of them, or blocks.
  CHECK_FALSE(merges_bits(changed(signs(top, "x < 0"), "uint1", "uint2")));
  CHECK_FALSE(merges_bits(changed(signs(top, "x < 0"), "uint1", "trit")));
  CHECK_FALSE(merges_bits(changed(changed(signs(top, "x < 0"), "concat(scale, code)", "concat(scale, code, code)"),
                                  "uint1* code;\n  extract(compressed, scale, code)",
                                  "uint1* code, other;\n  extract(compressed, scale, code, other)")));
  CHECK_FALSE(merges_bits(source_of("efsign")));
  CHECK_FALSE(merges_bits(source_of("onebit")));
  // The program keeps something.
  CHECK_FALSE(merges_bits("state float* mean;\n" + changed(signs(top, "x < 0"), "float scale = " + top,
                                                           "gradient = map(gradient, mean, [&](float x, float m) -> "
                                                           "float { return x - m; });\n  mean = gradient;\n"
                                                           "  float scale = " +
                                                               top)));
}

TEST_CASE("bit merge: the interpreter's bytes, for any number of contributions and elements") {
  for (const GeneratedCodec* codec :
       {generated_signsgd(), generated_two_values(), generated_mean_signs(), generated_drawn_signs()}) {
    const Pair pair = pair_of(*codec);
    const bool words = codec == generated_signsgd() || codec == generated_two_values();
    CHECK(codec->merges_bits == words);
    for (const Elements n : {kFew, kFew + 1, kFew + 2, kFew + 9, Elements{4600}, kMany}) {
      for (const auto& [kind, element] : kinds(n)) {
        const std::vector<Payload> all = payloads_of(*pair.generated, 7, n, element);
        for (std::size_t count = 1; count <= all.size(); ++count) {
          if (n == kMany && count % 2 != 0) continue;
          const std::vector<Payload> some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
          const float scale = 1 / static_cast<float>(count);
          const Merged expected = merge(*pair.meaning, some, n, scale, *pair.meaning);
          for (const std::string& set : instruction_sets(codec->declares.name)) {
            const UseInstructionSet used(set);
            INFO(set << ", " << codec->declares.name << ", " << count << " of " << n << " elements, " << kind);
            CHECK(merge(*pair.generated, some, n, scale, *pair.generated) == expected);
            CHECK(by_words(pair, some, n, scale, pair) == (words && n > kFew && count <= 6));
          }
        }
      }
    }
  }
}

TEST_CASE("bit merge: any statistics that can arrive, and any scale") {
  using Limits = std::numeric_limits<float>;
  const float infinity = Limits::infinity();
  const std::vector<float> scalars = {1,
                                      -2.5f,
                                      0,
                                      -0.0f,
                                      Limits::denorm_min(),
                                      Limits::max(),
                                      infinity,
                                      -infinity,
                                      Limits::quiet_NaN(),
                                      -Limits::quiet_NaN()};
  const Elements n = 4133;
  for (const GeneratedCodec* codec : {generated_signsgd(), generated_two_values()}) {
    const Pair pair = pair_of(*codec);
    const auto all = kinds(n);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::vector<Payload> plain = payloads_of(*pair.generated, 3, n, all[k].second);
      for (std::size_t i = 0; i < scalars.size() * scalars.size(); ++i) {
        const std::size_t one = i / scalars.size(), other = i % scalars.size();
        // All pairs with drawn elements; with the other kinds each statistic once in both places.
        if (k > 0 && (one + k) % scalars.size() != other) continue;
        std::vector<Payload> payloads = plain;
        set_scalar(payloads[0], 16, scalars[one]);
        set_scalar(payloads[2], 16, scalars[other]);
        for (const float scale : {1 / 3.0f, 1.0f, -1.0f, 0.0f, -0.0f, Limits::min(), infinity, Limits::quiet_NaN()}) {
          const Merged expected = merge_elements(*pair.generated, payloads, n, scale, *pair.generated);
          for (const std::string& set : instruction_sets(codec->declares.name)) {
            const UseInstructionSet used(set);
            INFO(set << ", " << codec->declares.name << ", " << scalars[one] << " and " << scalars[other] << " times "
                     << scale << ", " << all[k].first);
            CHECK(merge(*pair.generated, payloads, n, scale, *pair.generated) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("bit merge: not finite, and zeros with a sign") {
  const Elements n = 5003;
  const Pair signs = pair_of(*generated_signsgd()), values = pair_of(*generated_two_values());
  const auto drawn = kinds(n).front().second;
  std::vector<Payload> payloads = payloads_of(*signs.generated, 3, n, drawn);
  CHECK(by_words(signs, payloads, n, 0.25f, signs));
  set_scalar(payloads[1], 16, std::numeric_limits<float>::infinity());
  CHECK(by_words(signs, payloads, n, 0.25f, signs));
  CHECK_FALSE(merge(*signs.generated, payloads, n, 0.25f, *signs.generated).finite);
  set_scalar(payloads[2], 16, std::numeric_limits<float>::infinity());  // one less the other is NaN
  CHECK(by_words(signs, payloads, n, 0.25f, signs));
  payloads = payloads_of(*values.generated, 2, n, drawn);
  for (Payload& payload : payloads) set_scalar(payload, 16, -0.0f);
  CHECK(by_words(values, payloads, n, 1, values));
}

TEST_CASE("bit merge: into another codec, where both go by bits or only one") {
  const Elements n = 5003;
  const Pair signs = pair_of(*generated_signsgd()), values = pair_of(*generated_two_values()),
             means = pair_of(*generated_mean_signs());
  for (const Pair* first : {&signs, &values, &means}) {
    const std::vector<Payload> payloads = payloads_of(*first->generated, 4, n, kinds(n).front().second);
    for (const Pair* second : {&signs, &values, &means}) {
      INFO(title(*first->generated) << " into " << title(*second->generated));
      const Merged expected = merge(*first->meaning, payloads, n, 0.25f, *second->meaning);
      CHECK(merge(*first->generated, payloads, n, 0.25f, *second->generated) == expected);
      CHECK(by_words(*first, payloads, n, 0.25f, *second) == (first != &means && second != &means));
    }
    const auto int8 = codec_of("int8");
    CHECK(merge(*first->generated, payloads, n, 0.25f, *int8) == merge(*first->meaning, payloads, n, 0.25f, *int8));
  }
}

TEST_CASE("bit merge: raw or kept values take elements") {
  const Elements n = 5003;
  const Pair pair = pair_of(*generated_signsgd());
  const std::vector<float> raw = gaussian(n, 9);
  std::vector<float> kept(n);
  const std::vector<Payload> payloads = payloads_of(*pair.generated, 2, n, kinds(n).front().second);
  std::vector<Contribution> terms = terms_of(payloads);
  Payload payload(pair.generated->encoded_bound(n));
  const auto by_bits = [&](Residual residual) {
    return merge_bits(tiles(pair), terms, n, 1, tiles(pair), residual, {}, payload.data()).has_value();
  };
  CHECK(by_bits({}));
  CHECK_FALSE(by_bits({raw.data(), nullptr, n}));
  CHECK_FALSE(by_bits({nullptr, kept.data(), n}));
  terms.push_back({{}, raw.data()});
  CHECK_FALSE(by_bits({}));
}

}  // namespace casync::compll
