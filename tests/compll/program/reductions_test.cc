// SPDX-License-Identifier: Apache-2.0
//
// Elements are reduced in chunks of 4096, and what they become in chunks again: the interpreter and what is generated
// keep to it, on every instruction set.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "compll/codec/generated_codec.h"
#include "compll/interpreter/reductions.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_reductions();
extern "C" const GeneratedCodec* generated_vector_reductions();

namespace {

/// Reduces as docs/language.md says; `values` is not empty. The lanes of a chunk begin with their first element.
template <class T>
T in_order(std::vector<T> values, const std::function<T(T, T)>& combine) {
  while (values.size() != 1) {
    std::vector<T> results;
    for (std::size_t first = 0; first < values.size(); first += 4096) {
      const std::size_t end = std::min(first + 4096, values.size());
      std::vector<std::vector<T>> lanes(16);
      for (std::size_t i = first; i < end; ++i) {
        std::vector<T>& lane = lanes[(i - first) % 16];
        lane.empty() ? lane.push_back(values[i]) : void(lane[0] = combine(lane[0], values[i]));
      }
      for (const std::size_t half : {8, 4, 2, 1}) {
        for (std::size_t i = 0; i < half; ++i) {
          if (!lanes[i + half].empty()) lanes[i][0] = combine(lanes[i][0], lanes[i + half][0]);
        }
      }
      results.push_back(lanes[0][0]);
    }
    values = results;
  }
  return values[0];
}

float mixed(float a, float b) { return a - b * 0.5f; }
float lesser(float a, float b) { return b < a ? b : a; }
float greater(float a, float b) { return a < b ? b : a; }

/// The contents of the program's sections.
struct Reduced {
  float total, folded, least, most;
};
Reduced expected_of(const std::vector<float>& values, float initial) {
  const float infinity = INFINITY;
  std::vector<double> wide(values.begin(), values.end());
  const double total = in_order<double>(wide, [](double a, double b) { return a + b; });
  return {static_cast<float>(total + 0.0), mixed(initial, in_order<float>(values, mixed)),
          lesser(infinity, in_order<float>(values, lesser)) + 0.0f,  // a zero has no sign
          greater(-infinity, in_order<float>(values, greater)) + 0.0f};
}

std::vector<std::uint32_t> words_of(const std::vector<std::byte>& payload, std::size_t at, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  std::memcpy(words.data(), payload.data() + at, 4 * count);
  return words;
}

/// The payload that the program has to give.
std::vector<std::uint32_t> expected_words(const std::vector<float>& values, std::size_t block) {
  std::vector<std::uint32_t> words;
  const auto put = [&](float x) { words.push_back(std::bit_cast<std::uint32_t>(x)); };
  const auto align = [&] { words.resize((words.size() + 3) / 4 * 4); };
  const Reduced all = expected_of(values, 0.25f);
  for (const float each : {all.total, all.folded, all.least, all.most}) put(each), align();
  const auto nonzero = std::count_if(values.begin(), values.end(), [](float x) { return x != 0; });
  words.push_back(static_cast<std::uint32_t>(nonzero)), align();
  words.push_back(static_cast<std::uint32_t>(nonzero));  // also as doubles that are no floats
  std::vector<Reduced> blocks;
  for (std::size_t first = 0; first < values.size(); first += block) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    blocks.push_back(
        expected_of({begin, begin + static_cast<std::ptrdiff_t>(std::min(block, values.size() - first))}, 0.75f));
  }
  for (float Reduced::*each : {&Reduced::total, &Reduced::folded, &Reduced::least, &Reduced::most}) {
    align();
    for (const Reduced& one : blocks) put(one.*each);
  }
  return words;
}

/// Elements of very different magnitudes, and zeros of both signs.
std::vector<std::vector<float>> values_of(std::size_t n) {
  std::mt19937 random(static_cast<std::uint32_t>(n));
  std::vector<float> zeros(n), wide = laplace(n, 3);
  for (float& each : zeros) each = random() % 2 == 0 ? 0.0f : -0.0f;
  for (float& each : wide) each *= std::ldexp(1.0f, static_cast<int>(random() % 80) - 40);
  return {wide, zeros};
}

/// Both programs, on every instruction set.
void check_generated(const std::vector<float>& values, std::size_t block) {
  const std::vector<std::uint32_t> expected = expected_words(values, block);
  for (const GeneratedCodec* functions : {generated_reductions(), generated_vector_reductions()}) {
    const Result<std::unique_ptr<Codec>> codec =
        make_generated_codec(*functions, Parameters{{"block", static_cast<double>(block)}});
    REQUIRE(codec.status().text() == "OK");
    for (const std::string& set : instruction_sets(functions->declares.name)) {
      const UseInstructionSet used(set);
      INFO(set << ", " << functions->declares.name << ", " << values.size() << " elements, blocks of " << block);
      const Coded coded = encode(**codec, values);
      REQUIRE(coded.payload.size() == 16 + 4 * expected.size());
      CHECK((words_of(coded.payload, 16, expected.size()) == expected));
    }
  }
}

}  // namespace

TEST_CASE("reductions: the interpreter takes chunks of 4096, then what they became") {
  for (const char* name : {"reductions", "vector_reductions"}) {
    for (const std::size_t block : {4096, 65536}) {
      const Written meaning = from_text(name, test_program(name), {{"block", static_cast<double>(block)}});
      for (const std::size_t n : {1, 15, 17, 4095, 4096, 4097, 12288, 65536, 65537, 70001}) {
        for (const std::vector<float>& values : values_of(n)) {
          INFO(name << ", " << n << " elements, blocks of " << block);
          const std::vector<std::uint32_t> expected = expected_words(values, block);
          const Coded coded = encode(*meaning.codec, values);
          REQUIRE(coded.payload.size() == 16 + 4 * expected.size());
          CHECK((words_of(coded.payload, 16, expected.size()) == expected));
        }
      }
    }
  }
}

TEST_CASE("reductions: generated code does so, too, on every instruction set") {
  for (const std::size_t n : {1, 17, 4095, 4096, 4097, 8192, 20011, 65536, 65537, 70001}) {
    for (const std::vector<float>& values : values_of(n)) {
      for (const std::size_t block : {16, 4096, 8192, 65536}) check_generated(values, block);
    }
  }
}

TEST_CASE("reductions: chunks of chunks of chunks, beyond 4096 * 4096 elements") {
  const std::vector<float> values = values_of(4096 * 4096 + 4101).front();
  check_generated(values, 65536);
  std::vector<Scalar> scalars;
  for (const float each : values) scalars.push_back(Scalar::of_float(each));
  const double expected = in_order<double>({values.begin(), values.end()}, [](double a, double b) { return a + b; });
  CHECK(reduced_by(Reducer::kSum, kFloatType, scalars) == Scalar::of_double(expected));
}

TEST_CASE("reductions: an empty array gives the value that a function begins with, and 0") {
  const auto combine = [](std::span<Scalar> into, std::span<const Scalar>) {
    std::fill(into.begin(), into.end(), Scalar::of_float(7));
  };
  CHECK(reduced_by(combine, Scalar::of_float(3), {}) == Scalar::of_float(3));
  CHECK(reduced_by(Reducer::kSum, kFloatType, {}) == Scalar::of_double(0));
}

}  // namespace casync::compll
