// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/byte_planes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "tests/compll/support/instruction_sets.h"

namespace casync::compll {
namespace {

constexpr std::byte kUntouched{0x5a};

std::vector<std::uint8_t> noise(std::size_t count, unsigned kinds, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random() % kinds * 37);
  return bytes;
}

/// The code at this place.
unsigned code_at(const std::vector<std::byte>& codes, std::size_t at, unsigned width) {
  unsigned code = 0;
  for (std::size_t bit = 0; bit < width; ++bit) {
    const std::size_t place = at * width + bit;
    code |= (std::to_integer<unsigned>(codes[place / 8]) >> place % 8 & 1) << bit;
  }
  return code;
}

}  // namespace

TEST_CASE("byte planes: words are split by bytes, the sign behind the exponent, and joined again") {
  for (const std::string& set : instruction_sets()) {
    const UseInstructionSet used(set);
    for (const bool floats : {false, true}) {
      for (std::size_t count = 0; count <= 200; ++count) {
        INFO(set << ", " << count << " words");
        constexpr std::size_t kStride = 256;
        const std::vector<std::uint8_t> random = noise(4 * count + 1, 251, static_cast<unsigned>(count));
        std::vector<std::byte> words(4 * count + 1), again(4 * count + 2, kUntouched);
        std::memcpy(words.data(), random.data(), words.size());
        std::vector<std::uint8_t> planes(4 * kStride, 0xa5);
        split_bytes(words.data() + 1, count, floats, planes.data(), kStride);  // at an odd address
        for (std::size_t i = 0; i < count; ++i) {
          std::uint32_t x;
          std::memcpy(&x, words.data() + 1 + 4 * i, sizeof x);
          if (floats) x = (x >> 23 & 0xff) << 24 | x >> 31 << 23 | (x & 0x7fffff);
          for (std::size_t p = 0; p < 4; ++p) REQUIRE(planes[p * kStride + i] == (x >> (8 * p) & 0xff));
        }
        for (std::size_t p = 0; p < 4; ++p) CHECK(planes[p * kStride + count] == 0xa5);
        join_bytes(planes.data(), kStride, count, floats, again.data() + 1);
        CHECK(std::equal(words.begin() + 1, words.end(), again.begin() + 1));
        CHECK((again.front() == kUntouched && again.back() == kUntouched));
      }
    }
  }
}

TEST_CASE("byte planes: codes of two bits, and the bytes that have none, in order") {
  for (const std::string& set : instruction_sets()) {
    const UseInstructionSet used(set);
    for (std::size_t known = 0; known <= 3; ++known) {
      const std::vector<std::uint8_t> values = {37, 0, 74};
      for (std::size_t count = 0; count <= 300; ++count) {
        INFO(set << ", " << known << " values, " << count << " bytes");
        const std::vector<std::uint8_t> bytes = noise(count, 5, static_cast<unsigned>(7 * count + known));
        std::vector<std::byte> codes((count + 3) / 4 + 1, kUntouched);
        std::vector<std::uint8_t> others(count + 1), wanted;
        others.resize(write_two_bits(bytes.data(), count, std::span(values).first(known), codes.data(), others.data()));
        for (std::size_t i = 0; i < count; ++i) {
          const auto found = std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(known), bytes[i]);
          const auto index = static_cast<std::size_t>(found - values.begin());
          if (index == known) wanted.push_back(bytes[i]);
          REQUIRE(code_at(codes, i, 2) == (index == known ? 3 : index));
        }
        CHECK(others == wanted);
        CHECK(codes.back() == kUntouched);
        for (std::size_t i = count; i % 4 != 0; ++i) CHECK(code_at(codes, i, 2) == 0);
      }
    }
  }
}

TEST_CASE("byte planes: codes that are all ones are counted, of any width, and nothing behind the last code") {
  for (const std::string& set : instruction_sets()) {
    const UseInstructionSet used(set);
    for (unsigned width = 1; width <= 4; ++width) {
      for (std::size_t count = 0; count <= 300; ++count) {
        INFO(set << ", " << width << " bits, " << count << " codes");
        const std::vector<std::uint8_t> random = noise((count * width + 7) / 8 + 1, 251, width);
        std::vector<std::byte> codes(random.size());
        std::memcpy(codes.data(), random.data(), codes.size());
        if (count * width % 8 != 0) {  // bits behind the last code are zeros, as in every sequence
          codes[count * width / 8] &= static_cast<std::byte>((1u << count * width % 8) - 1);
        }
        std::size_t wanted = 0;
        for (std::size_t i = 0; i < count; ++i) wanted += code_at(codes, i, width) == (1u << width) - 1;
        CHECK(count_all_ones(codes.data(), count, width) == wanted);
      }
    }
  }
}

}  // namespace casync::compll
