// SPDX-License-Identifier: Apache-2.0
//
// Programs with states that go by tiles: what becomes of the states, too, is the interpreter's.
#include <algorithm>
#include <catch2/catch.hpp>

#include "compll/codec/generated_codec.h"
#include "tests/compll/program/pair.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_diana();
extern "C" const GeneratedCodec* generated_ecqsgd();
extern "C" const GeneratedCodec* generated_kept();
extern "C" const GeneratedCodec* generated_kept_steps();
extern "C" const GeneratedCodec* generated_turned_states();

namespace {

/// The states that a call is given, and their place in memory.
struct Given {
  bool states = true, keeps = true;
  Elements gap = 0;       ///< floats between one array and the next
  std::size_t shift = 0;  ///< floats by which memory is off a multiple of 64 bytes
};

/// Arrays that are kept, from a multiple of 64 bytes on.
class Arrays {
 public:
  Arrays(const Codec& codec, Elements n, const Given& given, std::uint32_t seed)
      : stride_(n + given.gap), count_(codec.info().states), floats_(stride_ * count_ + 16 + given.shift, -7.0f) {
    begin_ = floats_.data() + given.shift;
    while (reinterpret_cast<std::uintptr_t>(begin_ - given.shift) % 64 != 0) ++begin_;
    const std::vector<float> values = laplace(n * count_, seed);
    for (Elements i = 0; i < count_; ++i) std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * n), n, at(i));
  }
  float* at(Elements array) { return begin_ + array * stride_; }
  Elements stride() const { return stride_; }
  /// With what lies between them.
  std::vector<float> all() const { return {begin_, begin_ + (count_ == 0 ? 0 : stride_ * count_)}; }

 private:
  Elements stride_, count_;
  std::vector<float> floats_;
  float* begin_;
};

struct Made {
  std::vector<std::byte> payload;
  bool finite = true;
  std::vector<float> kept, floats;
};

enum class CodecFunction { kEncode, kEncodeSum, kMerge, kResult };
constexpr CodecFunction kFunctions[] = {CodecFunction::kEncode, CodecFunction::kEncodeSum, CodecFunction::kMerge,
                                        CodecFunction::kResult};

Made made_by(const Codec& codec, CodecFunction function, const std::vector<float>& values, const Given& given) {
  const Elements n = values.size();
  Arrays before(codec, n, given, 31), after(codec, n, given, 32);
  const Residual kept = {given.states ? before.at(0) : nullptr, given.keeps ? after.at(0) : nullptr, before.stride()};
  const EncodeContext context = {7, 8, 9, 1003};
  Made made;
  if (function == CodecFunction::kResult) {
    made.floats = values;
    codec.result(made.floats.data(), n, kept, context, made.floats.data());
  } else {
    made.payload.resize(codec.encoded_bound(n));
    Encoded encoded;
    if (function == CodecFunction::kEncode) {
      encoded = codec.encode(values.data(), n, kept, context, made.payload.data());
    } else if (function == CodecFunction::kEncodeSum) {
      encoded = codec.encode_sum(values.data(), 0.5f, n, kept, context, made.payload.data());
    } else {
      const Coded term = encode(codec, gaussian(n, 33));
      const Contribution terms[] = {{term.view(), nullptr}, {{}, values.data()}};
      encoded = codec.merge(terms, n, 0.25f, codec, kept, context, made.payload.data());
    }
    made.finite = encoded.finite;
  }
  made.kept = after.all();
  return made;
}

/// Checks that each function does what the interpreter does, on every instruction set.
void check_same(const Pair& pair, const std::vector<float>& values, const Given& given) {
  for (const CodecFunction function : kFunctions) {
    if (function == CodecFunction::kResult && !pair.meaning->info().has_result) continue;
    const Made expected = made_by(*pair.meaning, function, values, given);
    for (const std::string& set : instruction_sets(pair.generated->info().name)) {
      const UseInstructionSet used(set);
      INFO("function " << static_cast<int>(function) << ", " << set);
      const Made made = made_by(*pair.generated, function, values, given);
      CHECK(made.payload == expected.payload);
      CHECK(made.finite == expected.finite);
      if (!expected.finite) continue;
      CHECK(same_bytes(made.kept, expected.kept));
      CHECK(same_bytes(made.floats, expected.floats));
    }
  }
}

const GeneratedCodec* const kAll[] = {generated_diana(), generated_ecqsgd(), generated_kept(), generated_kept_steps(),
                                      generated_turned_states()};

}  // namespace

TEST_CASE("states by tiles: the bytes are the interpreter's, on every instruction set") {
  for (const GeneratedCodec* codec : kAll) {
    REQUIRE(codec->encode.tile != nullptr);
    const Pair pair = pair_of(*codec);
    for (const Elements n : {0, 1, 15, 16, 17, 63, 64, 65, 129, 300}) {
      for (const Input& input : inputs(n)) {
        if (n > 65 && input.name != std::string("gaussian") && input.name != std::string("NaN")) continue;
        INFO(codec->declares.name << ", " << n << " elements, " << input.name);
        check_same(pair, input.values, {});
      }
    }
    INFO(codec->declares.name << ", several tiles");
    check_same(pair, gaussian(9011, 5), {});
  }
}

TEST_CASE("states by tiles: not given, not wanted, apart from each other, and off the lines of the cache") {
  for (const GeneratedCodec* codec : kAll) {
    const Pair pair = pair_of(*codec);
    for (const Given& given : {Given{.states = false}, Given{.keeps = false}, Given{.states = false, .keeps = false},
                               Given{.gap = 7}, Given{.gap = 5, .shift = 3}}) {
      for (const Elements n : {1, 33, 1000, 5003}) {
        if (!given.states && given.gap != 0) continue;
        INFO(codec->declares.name << ", " << n << " elements, " << given.states << given.keeps << given.gap);
        check_same(pair, laplace(n, 6), given);
      }
    }
  }
}

TEST_CASE("states by tiles: blocks of all sizes") {
  for (const GeneratedCodec* codec : {generated_diana(), generated_ecqsgd(), generated_kept()}) {
    for (const double block : {16.0, 256.0, 4096.0}) {
      const Pair pair = pair_of(*codec, {{"block", block}});
      INFO(codec->declares.name << ", blocks of " << block);
      check_same(pair, laplace(9001, 7), {});
    }
  }
}

TEST_CASE("states by tiles: large ones are written past the caches where they lie on lines, and are the same") {
  constexpr Elements kLarge = (Elements{1} << 21) + 32;
  const std::vector<float> values = gaussian(kLarge, 8);
  for (const GeneratedCodec* codec : kAll) {
    const Pair pair = pair_of(*codec);
    for (const CodecFunction function : kFunctions) {
      if (function == CodecFunction::kResult && !pair.meaning->info().has_result) continue;
      INFO(codec->declares.name << ", function " << static_cast<int>(function));
      const Made lines = made_by(*pair.generated, function, values, {});
      const Made off = made_by(*pair.generated, function, values, {.shift = 1});
      CHECK(lines.payload == off.payload);
      CHECK(same_bytes(lines.kept, off.kept));
      CHECK(same_bytes(lines.floats, off.floats));
    }
  }
}

}  // namespace casync::compll
