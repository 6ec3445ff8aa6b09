// SPDX-License-Identifier: Apache-2.0
//
// Code generated from a program gives the bytes of the interpreter, on every instruction set.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include "compll/codec/generated_codec.h"
#include "compll/codec/written.h"
#include "tests/compll/program/pair.h"
#include "tests/compll/support/compare_info.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_branches();
extern "C" const GeneratedCodec* generated_conversions();
extern "C" const GeneratedCodec* generated_doubles();
extern "C" const GeneratedCodec* generated_narrow_ends();
extern "C" const GeneratedCodec* generated_narrow_places();
extern "C" const GeneratedCodec* generated_published();
extern "C" const GeneratedCodec* generated_several();
extern "C" const GeneratedCodec* generated_long_turns();
extern "C" const GeneratedCodec* generated_turned();
extern "C" const GeneratedCodec* generated_turned_steps();
extern "C" const GeneratedCodec* generated_wide_conversions();

namespace {

/// A codec's results for one input: of encode, of merging that payload, of decoding it, and of `result`.
struct Made {
  Coded coded, merged;
  std::vector<float> decoded, summed, result;
};

Made made_by(const Codec& codec, const std::vector<float>& values) {
  const Elements n = values.size(), states = std::max<Elements>(codec.info().states, 1);
  std::vector<float> before = laplace(states * n, 77);
  Made made;
  made.coded = encode(codec, values, before);
  CHECK(codec.check(made.coded.view(), n).text() == "OK");
  made.decoded = decode(codec, made.coded, n);
  made.summed = values;
  codec.decode_add(made.coded.view(), n, made.summed.data());
  made.merged = made.coded;
  made.merged.payload.resize(codec.encoded_bound(n));
  const Contribution terms[] = {{made.coded.view(), nullptr}, {{}, values.data()}};
  const Encoded merged = codec.merge(terms, n, 0.5f, codec, {before.data(), made.merged.residual.data(), n},
                                     {3, 4, 5, 0}, made.merged.payload.data());
  made.merged.finite = merged.finite;
  made.merged.payload.resize(merged.size);
  if (codec.info().has_result) {
    std::vector<float> after(states * n);
    made.result.resize(n);
    codec.result(made.decoded.data(), n, {before.data(), after.data(), n}, {}, made.result.data());
    made.result.insert(made.result.end(), after.begin(), after.end());
  }
  return made;
}

/// Returns true if all elements are equal or both NaN. -0 equals 0: it may become 0 where nothing is added to it.
bool same_numbers(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

void check_same(const Made& a, const Made& b) {
  CHECK(a.coded.payload == b.coded.payload);
  CHECK(a.coded.finite == b.coded.finite);
  CHECK(a.merged.finite == b.merged.finite);
  if (!a.coded.finite) return;
  CHECK(same_bytes(a.coded.residual, b.coded.residual));
  CHECK(same_bytes(a.decoded, b.decoded));
  CHECK(same_numbers(a.summed, b.summed));
  CHECK(a.merged.payload == b.merged.payload);
  CHECK(same_bytes(a.merged.residual, b.merged.residual));
  CHECK(same_bytes(a.result, b.result));
}

/// The interpreter takes most of the time, and is the same for every instruction set.
void check_same_on_every_set(const Codec& meaning, const Codec& generated, const std::vector<float>& values) {
  const Made expected = made_by(meaning, values);
  for (const std::string& set : instruction_sets(generated.info().name)) {
    const UseInstructionSet used(set);
    INFO(set);
    check_same(expected, made_by(generated, values));
  }
}

/// The codec with its initial parameters, and where it has blocks also with small ones.
std::vector<Parameters> settings(const GeneratedCodec& codec) {
  std::vector<Parameters> all = {{}};
  if (codec.declares.block_parameter >= 0) {
    const GeneratedParameter& block = codec.declares.parameters[codec.declares.block_parameter];
    all.push_back({{block.name, std::max(block.least, 64.0)}});
  }
  return all;
}

}  // namespace

TEST_CASE("generated: the bytes are the interpreter's, on every instruction set") {
  for (const GeneratedCodec* codec : written_codecs()) {
    for (const Parameters& parameters : settings(*codec)) {
      const std::string name = codec->declares.name;
      const std::unique_ptr<Codec> meaning = from_source(name, parameters).codec;
      const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*codec, parameters);
      REQUIRE(generated.status().text() == "OK");
      INFO(name);
      CHECK(test::info_difference(meaning->info(), (*generated)->info()) == "");
      for (const Elements n : {0, 1, 15, 16, 17, 63, 64, 65, 127, 129, 300}) {
        for (const Input& input : inputs(n)) {
          INFO(name << ", " << n << " elements, " << input.name);
          check_same_on_every_set(*meaning, **generated, input.values);
        }
      }
      for (const Elements n : {4096, 20011}) {
        INFO(name << ", tiles of " << n << " elements");
        check_same_on_every_set(*meaning, **generated, gaussian(n, 5));
      }
    }
  }
}

TEST_CASE("generated: blocks of every size, the last one whole or short, many of them together") {
  for (const GeneratedCodec* codec : written_codecs()) {
    if (codec->declares.block_parameter < 0 || codec->encode.tile == nullptr) continue;
    const GeneratedParameter& block = codec->declares.parameters[codec->declares.block_parameter];
    for (const double size : {block.least, 256.0, 4096.0, block.most}) {
      const Parameters parameters = {{block.name, size}};
      const std::unique_ptr<Codec> meaning = from_source(codec->declares.name, parameters).codec;
      const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*codec, parameters);
      REQUIRE(generated.status().text() == "OK");
      const auto block_size = static_cast<Elements>(size);
      // 64 blocks are worked on together; a tile has 4096 elements, or one block.
      constexpr Elements kMost = 9001;
      const Elements many = std::min<Elements>(65 * block_size + 17, kMost);  // a part of one block, if it is so large
      for (const Elements n : {std::min(block_size - 1, kMost), block_size, block_size + 5, many}) {
        INFO(codec->declares.name << ", blocks of " << size << ", " << n << " elements");
        check_same_on_every_set(*meaning, **generated, laplace(n, 11));
      }
    }
  }
}

TEST_CASE("generated: without a residual the payload is the same") {
  const std::vector<float> values = gaussian(5003, 21);
  for (const GeneratedCodec* codec : written_codecs()) {
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*codec);
    REQUIRE(generated.status().text() == "OK");
    if ((*generated)->info().states > 1) continue;
    for (const std::string& set : instruction_sets()) {
      const UseInstructionSet used(set);
      INFO(set << ", " << codec->declares.name);
      std::vector<std::byte> payload((*generated)->encoded_bound(values.size()));
      payload.resize((*generated)->encode(values.data(), values.size(), {}, {}, payload.data()).size);
      CHECK(payload == encode(**generated, values).payload);
    }
  }
}

TEST_CASE("generated: random numbers of a partition that begins within a block of Philox") {
  const std::vector<float> values = gaussian(1500, 31);
  for (const GeneratedCodec* codec : written_codecs()) {
    if (!codec->declares.unbiased || codec->encode.tile == nullptr) continue;
    const std::unique_ptr<Codec> meaning = from_source(codec->declares.name).codec;
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*codec);
    REQUIRE(generated.status().text() == "OK");
    for (const std::uint64_t first : {1, 2, 3, 6, 32, 61, 500, 511}) {
      // The block's number needs more than 32 bits in the middle of the second one.
      for (const std::uint64_t before : {std::uint64_t{0}, (std::uint64_t{1} << 38) - 512}) {
        const EncodeContext context{7, 8, 9, before + first};
        const Coded expected = encode(*meaning, values, {}, context);
        for (const std::string& set : instruction_sets()) {
          const UseInstructionSet used(set);
          INFO(set << ", " << codec->declares.name << ", from element " << context.first);
          CHECK(encode(**generated, values, {}, context).payload == expected.payload);
        }
      }
    }
  }
}

TEST_CASE("generated: conversions of what no integer holds, and codes of all widths") {
  for (const GeneratedCodec* codec : {generated_conversions(), generated_wide_conversions()}) {
    const std::string name = codec->declares.name;
    const std::unique_ptr<Codec> meaning = from_text(name, test_program(name)).codec;
    REQUIRE(codec->encode.tile != nullptr);
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*codec);
    REQUIRE(generated.status().text() == "OK");
    for (const Elements n : {1, 7, 16, 29, 300}) {
      INFO(name << ", " << n << " elements");
      check_same_on_every_set(*meaning, **generated, laplace(n, 41));
      check_same_on_every_set(*meaning, **generated, std::vector<float>(n, 0.0f));
      check_same_on_every_set(*meaning, **generated, std::vector<float>(n, -0.0f));
    }
  }
}

TEST_CASE("generated: doubles by tiles are sections of one and of blocks, and of those that are counted NaN is none") {
  REQUIRE(generated_doubles()->encode.tile != nullptr);
  for (const double block : {16.0, 64.0, 4096.0}) {
    const Pair pair = pair_of(*generated_doubles(), {{"block", block}});
    for (const Elements n : {0, 1, 15, 16, 17, 129, 300, 5003}) {
      INFO("blocks of " << block << ", " << n << " elements");
      std::vector<float> values = laplace(n, 71);
      for (Elements i = 5; i < n; i += 9) values[i] = i % 2 == 0 ? 0.0f : -0.0f;
      check_same_on_every_set(*pair.meaning, *pair.generated, values);
      for (Elements i = 0; i < n; i += 7) values[i] = std::numeric_limits<float>::quiet_NaN();
      check_same_on_every_set(*pair.meaning, *pair.generated, values);
      const auto nonzero = std::count_if(values.begin(), values.end(), [](float x) { return !(x == 0); });
      for (const std::string& set : instruction_sets("doubles")) {
        const UseInstructionSet used(set);
        INFO(set);
        const std::vector<std::byte> payload = encode(*pair.generated, values).payload;
        std::uint32_t counted = 0;
        if (n != 0) std::memcpy(&counted, payload.data() + 16, sizeof counted);
        CHECK(counted == static_cast<std::uint32_t>(nonzero));
      }
    }
  }
}

TEST_CASE("generated: the ends of elements of fewer bits, of which there may be none, and trits added at places") {
  REQUIRE(generated_narrow_ends()->encode.tile == nullptr);
  const Pair pair = pair_of(*generated_narrow_ends());
  for (const Elements n : {0, 1, 2, 3, 9, 48, 51, 300, 5003}) {
    for (const Input& input : inputs(n)) {
      INFO(n << " elements, " << input.name);
      check_same_on_every_set(*pair.meaning, *pair.generated, input.values);
    }
  }
}

TEST_CASE("generated: elements that are picked by their own index in fewer bits") {
  REQUIRE(generated_narrow_places()->encode.tile == nullptr);
  const std::unique_ptr<Codec> meaning = from_text("narrow_places", test_program("narrow_places")).codec;
  const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*generated_narrow_places());
  REQUIRE(generated.status().text() == "OK");
  for (const Elements n : {0, 1, 15, 17, 64, 255, 257, 300, 5003}) {
    INFO(n << " elements");
    check_same_on_every_set(*meaning, **generated, gaussian(n, 61));
  }
  const std::vector<float> values = gaussian(300, 62);
  const std::vector<float> decoded = decode(**generated, encode(**generated, values), values.size());
  CHECK(decoded[299] == values[255] + (values[15] + values[63]));
}

TEST_CASE("generated: blocks that are rotated, next to statistics of smaller and of larger ones") {
  for (const GeneratedCodec* codec : {generated_turned(), generated_long_turns()}) {
    const std::string name = codec->declares.name;
    const bool by_tiles = name == "turned";
    REQUIRE((codec->encode.tile != nullptr) == by_tiles);
    const std::string text = test_program(name);
    const GeneratedParameter& turned = codec->declares.parameters[0];
    for (std::uint32_t choice = 0; choice < turned.choice_count; ++choice) {
      for (const double block : {16.0, 64.0, 4096.0}) {
        const Parameters parameters = {{turned.name, turned.choices[choice]}, {"block", block}};
        const std::unique_ptr<Codec> meaning = from_text(name, text, parameters).codec;
        const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*codec, parameters);
        REQUIRE(generated.status().text() == "OK");
        for (const Elements n : {1, 2, 15, 17, 63, 127, 129, 1000, 5003}) {
          for (const Input& input : inputs(n)) {
            // The compiler chooses which of two NaNs an addition keeps, and `turned` turns them again.
            if (by_tiles ? input.name == std::string("largest") : n > 200 && input.name != std::string("gaussian"))
              continue;
            INFO(name << ", " << turned.choices[choice] << " turned, blocks of " << block << ", " << n << " elements, "
                      << input.name);
            check_same_on_every_set(*meaning, **generated, input.values);
          }
        }
      }
    }
  }
}

TEST_CASE("generated: blocks that are rotated where there are no others, in tiles and in memory") {
  REQUIRE(generated_turned_steps()->encode.tile != nullptr);
  CHECK(generated_turned_steps()->encode.rotated_arrays == 1);
  const std::unique_ptr<Codec> meaning = from_text("turned_steps", test_program("turned_steps")).codec;
  const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*generated_turned_steps());
  REQUIRE(generated.status().text() == "OK");
  for (const Elements n : {0, 1, 15, 16, 63, 65, 129, 1023, 1025, 4097, 20011}) {
    INFO(n << " elements");
    check_same_on_every_set(*meaning, **generated, gaussian(n, 51));
  }
}

TEST_CASE("generated: selection among so many elements that a sample says which are looked at") {
  constexpr Elements kMany = 70001;
  std::vector<float> outliers(kMany, 0.5f), few(kMany, 0.0f), rising(kMany), mostly_equal = gaussian(kMany, 3);
  for (Elements i = 5; i < kMany; i += 137) outliers[i] = static_cast<float>(i);  // most of them between samples
  for (Elements i = 0; i < 40; ++i) few[i * 1733 + 9] = -1.0f - static_cast<float>(i % 3);
  for (Elements i = 0; i < kMany; ++i) rising[i] = static_cast<float>(i) - 100;
  for (Elements i = 0; i < kMany; ++i) mostly_equal[i] = i % 50 == 0 ? mostly_equal[i] : 3.0f;
  const std::vector<std::vector<float>> all = {
      laplace(kMany, 1), outliers, few, rising, mostly_equal, std::vector<float>(kMany, 1.0f)};
  const GeneratedCodec* const* topk = std::find_if(written_codecs().begin(), written_codecs().end(), [](const auto* c) {
                                        return std::string(c->declares.name) == "topk";
                                      }).base();
  for (const double ratio : {1e-6, 0.001, 0.01, 0.3, 1.0}) {
    const std::unique_ptr<Codec> meaning = from_source("topk", {{"ratio", ratio}}).codec;
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(**topk, Parameters{{"ratio", ratio}});
    REQUIRE(generated.status().text() == "OK");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Coded expected = encode(*meaning, all[i]);
      for (const std::string& set : instruction_sets()) {
        const UseInstructionSet used(set);
        INFO(set << ", ratio " << ratio << ", input " << i);
        CHECK(encode(**generated, all[i]).payload == expected.payload);
      }
    }
  }
}

TEST_CASE("generated: programs with branches, several results, functions to reduce by and the published spelling") {
  struct Golden {
    const char* name;
    const GeneratedCodec* (*codec)();
  };
  constexpr Golden all[] = {
      {"branches", generated_branches}, {"published", generated_published}, {"several", generated_several}};
  for (const Golden& golden : all) {
    std::ifstream file(std::string(CASYNC_GOLDEN_DIR) + "/" + golden.name + ".cll");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::unique_ptr<Codec> meaning = from_text(golden.name, text).codec;
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*golden.codec());
    REQUIRE(generated.status().text() == "OK");
    for (const Elements n : {0, 1, 7, 16, 17, 31, 64, 129, 300, 5003}) {
      INFO(golden.name << ", " << n << " elements");
      check_same_on_every_set(*meaning, **generated, gaussian(n, 7));
      check_same_on_every_set(*meaning, **generated, laplace(n, 8));
    }
  }
}

}  // namespace casync::compll
