// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "compll/ops/cpu/convert.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/reference/half.h"

namespace casync::compll {
namespace {

constexpr std::size_t kCodes = 1 << 16;

// Every code as a float32, every midpoint between neighbours, and the values one step from each: where rounding errs.
std::vector<float> delicate(DType dtype) {
  std::vector<float> values;
  for (std::size_t code = 0; code < kCodes; ++code) {
    const float value = reference::decode_half(dtype, static_cast<std::uint16_t>(code));
    const float next = reference::decode_half(dtype, static_cast<std::uint16_t>(code + 1));
    for (float v : {value, value / 2 + next / 2}) {
      values.insert(values.end(), {v, std::nextafter(v, 1e38f), std::nextafter(v, -1e38f)});
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return values;
}

}  // namespace

TEST_CASE("half: all 65536 codes become the numbers they stand for") {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    std::vector<std::uint16_t> codes(kCodes);
    for (std::size_t i = 0; i < kCodes; ++i) codes[i] = static_cast<std::uint16_t>(i);
    for (const std::string& set : instruction_sets()) {
      const UseInstructionSet use(set);
      INFO(name_of(dtype) << ", " << set);
      std::vector<float> values(kCodes);
      to_float32(dtype, codes.data(), kCodes, values.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < kCodes; ++i) {
        const float expected = reference::decode_half(dtype, codes[i]);
        wrong += std::bit_cast<std::uint32_t>(expected) != std::bit_cast<std::uint32_t>(values[i]);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("half: every number, midpoint and neighbour is rounded to nearest even, NaN stays NaN") {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const std::vector<float> values = delicate(dtype);
    std::vector<std::uint16_t> expected(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) expected[i] = reference::encode_half(dtype, values[i]);
    for (const std::string& set : instruction_sets()) {
      const UseInstructionSet use(set);
      INFO(name_of(dtype) << ", " << set);
      std::vector<std::uint16_t> codes(values.size());
      from_float32(values.data(), values.size(), dtype, codes.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) wrong += codes[i] != expected[i];
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("half: any number of elements, at any address, and nothing next to them is written") {
  constexpr std::byte kUntouched{0x5a};
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (std::size_t n = 0; n <= 70; ++n) {
      std::vector<float> values(n + 1);  // from the second one on
      for (float& value : values) value = normal(random);
      const bool finite = n == 0 || n % 3 != 0;
      if (!finite) values.back() = -3.4e38f;
      for (const std::string& set : instruction_sets()) {
        const UseInstructionSet use(set);
        INFO(name_of(dtype) << ", " << set << ", " << n << " elements");
        std::vector<std::byte> codes(2 * n + 6, kUntouched);
        std::vector<float> back(n + 2, -7.5f);
        CHECK(from_float32(values.data() + 1, n, dtype, codes.data() + 3) == finite);
        to_float32(dtype, codes.data() + 3, n, back.data() + 1);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < n; ++i) {
          std::uint16_t code = 0;
          std::memcpy(&code, codes.data() + 3 + 2 * i, sizeof code);
          const std::uint16_t expected = reference::encode_half(dtype, values[i + 1]);
          wrong += code != expected;
          wrong += back[i + 1] != reference::decode_half(dtype, expected);
        }
        CHECK(wrong == 0);
        CHECK((codes[2] == kUntouched && codes[2 * n + 3] == kUntouched));
        CHECK((back.front() == -7.5f && back.back() == -7.5f));
      }
    }
  }
}

TEST_CASE("half: a value that becomes infinite is told, and known ahead of it") {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    INFO(name_of(dtype));
    std::size_t wrong = 0;
    for (const float value : delicate(dtype)) {
      const bool finite = std::isfinite(reference::decode_half(dtype, reference::encode_half(dtype, value)));
      std::uint16_t code = 0;
      wrong += from_float32(&value, 1, dtype, &code) != finite;
      wrong += stays_finite(&value, 1, dtype) != finite;
    }
    CHECK(wrong == 0);
    std::vector<float> many(1000, 1.0f);
    std::vector<std::uint16_t> codes(many.size());
    CHECK(from_float32(many.data(), many.size(), dtype, codes.data()));
    CHECK(stays_finite(many.data(), many.size(), dtype));
    many[777] = -3.4e38f;
    CHECK_FALSE(from_float32(many.data(), many.size(), dtype, codes.data()));
    CHECK_FALSE(stays_finite(many.data(), many.size(), dtype));
    CHECK(stays_finite(many.data(), many.size(), DType::kFloat32));
  }
}

TEST_CASE("half: known values") {
  const std::vector<float> values = {1.0f, -2.0f, 65504.0f, 65519.9f, 65520.0f, 5.9604645e-8f, 2.9e-8f, 0.1f};
  const std::vector<std::uint16_t> fp16 = {0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0x0001, 0x0000, 0x2e66};
  const std::vector<std::uint16_t> bf16 = {0x3f80, 0xc000, 0x4780, 0x4780, 0x4780, 0x3380, 0x32f9, 0x3dcd};
  std::vector<std::uint16_t> codes(values.size());
  from_float32(values.data(), values.size(), DType::kFloat16, codes.data());
  CHECK(codes == fp16);
  from_float32(values.data(), values.size(), DType::kBFloat16, codes.data());
  CHECK(codes == bf16);
}

}  // namespace casync::compll
