// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/reference_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/dtype.h"
#include "tests/compll/support/reference/half.h"
#include "tests/compll/support/reference/levels.h"
#include "tests/compll/support/reference/signs.h"

namespace casync::compll {
namespace {

class Writer {
 public:
  std::vector<std::byte> bytes;

  void integer(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void real(float value) { integer(std::bit_cast<std::uint32_t>(value), 4); }
  void align() {
    while (bytes.size() % 16 != 0) bytes.push_back(std::byte{0});
  }
  // Codes of `width` bits, the lowest bits of a byte first.
  void codes(const std::vector<int>& values, unsigned width) {
    const std::size_t start = bytes.size();
    bytes.resize(start + (values.size() * width + 7) / 8);
    for (std::size_t i = 0; i < values.size() * width; ++i) {
      const unsigned bit = static_cast<unsigned>(values[i / width]) >> (i % width) & 1u;
      bytes[start + i / 8] |= static_cast<std::byte>(bit << (i % 8));
    }
  }
  void header(const CodecInfo& info, bool finite, std::uint64_t n) {
    integer('C' | 'L' << 8, 2);
    integer(info.version, 1);
    integer(info.number, 1);
    integer(finite ? 0 : 1, 1);
    integer(static_cast<std::uint64_t>(std::countr_zero(info.block)), 1);
    integer(0, 2);
    integer(n, 8);
  }
};

Expected encode_none(std::span<const float> p) {
  Expected expected{{}, std::vector<float>(p.size(), 0.0f), true};
  Writer writer;
  for (float value : p) {
    writer.real(value);
    expected.finite &= std::isfinite(value);
  }
  expected.payload = writer.bytes;
  return expected;
}

Expected encode_half(const CodecInfo& info, DType dtype, std::span<const float> p) {
  Expected expected;
  std::vector<int> codes;
  for (float value : p) {
    codes.push_back(reference::encode_half(dtype, value));
    const float decoded = reference::decode_half(dtype, static_cast<std::uint16_t>(codes.back()));
    expected.residual.push_back(value - decoded);
    expected.finite &= std::isfinite(decoded);
  }
  Writer writer;
  writer.header(info, expected.finite, p.size());
  writer.codes(codes, 16);
  expected.payload = writer.bytes;
  return expected;
}

/// Statistics of blocks, each kind in a section of its own.
using Statistics = std::vector<std::vector<float>>;

// Blocks with statistics of their own: `encode` appends codes, residuals and each of the statistics of one block.
template <class Encode>
Expected encode_blocks(const CodecInfo& info, std::span<const float> p, std::size_t kinds, unsigned width,
                       const Encode& encode) {
  Expected expected;
  std::vector<int> codes;
  Statistics statistics(kinds);
  for (Elements b = 0; b < p.size(); b += info.block) {
    encode(p.subspan(b, std::min(info.block, p.size() - b)), codes, statistics, expected);
  }
  Writer writer;
  writer.header(info, expected.finite, p.size());
  for (const std::vector<float>& kind : statistics) {
    for (float value : kind) writer.real(value);
    writer.align();
  }
  writer.codes(codes, width);
  expected.payload = writer.bytes;
  return expected;
}

Expected encode_levels(const CodecInfo& info, std::span<const float> p, float most, unsigned width) {
  return encode_blocks(info, p, 1, width, [&](auto part, auto& codes, Statistics& scales, Expected& expected) {
    const reference::LevelBlock block = reference::encode_levels(part, most);
    scales[0].push_back(block.scale);
    codes.insert(codes.end(), block.levels.begin(), block.levels.end());
    expected.residual.insert(expected.residual.end(), block.residual.begin(), block.residual.end());
    expected.finite &= block.finite;
  });
}

Expected encode_signs(const CodecInfo& info, std::span<const float> p) {
  return encode_blocks(info, p, 2, 1, [&](auto part, auto& codes, Statistics& means, Expected& expected) {
    const reference::SignBlock block = reference::encode_signs(part);
    means[0].push_back(block.at_least_zero);
    means[1].push_back(block.below_zero);
    codes.insert(codes.end(), block.negative.begin(), block.negative.end());
    expected.residual.insert(expected.residual.end(), block.residual.begin(), block.residual.end());
    expected.finite &= block.finite;
  });
}

}  // namespace

Expected reference_encode(const CodecInfo& info, std::span<const float> p) {
  if (info.name == "none") return encode_none(p);
  if (info.name == "bf16") return encode_half(info, DType::kBFloat16, p);
  if (info.name == "fp16") return encode_half(info, DType::kFloat16, p);
  if (info.name == "int8") return encode_levels(info, p, 127, 8);
  if (info.name == "int4") return encode_levels(info, p, 7, 4);
  CASYNC_CHECK(info.name == "onebit");
  return encode_signs(info, p);
}

}  // namespace casync::compll
