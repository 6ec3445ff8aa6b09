// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers by Elias' gamma code (Elias 1975): of x + 1, where x has b bits after its first one, b zeros, a one,
// and those b bits. Of numbers with a sign x is 0, 1, 2, 3, 4 for 0, -1, 1, -2, 2 and so on.
#include <array>
#include <bit>

#include "compll/codec/coded/bit_stream.h"
#include "compll/codec/coded/coded_block.h"

namespace casync::compll {
namespace {

std::uint32_t unsigned_of(const CodedElements& block, std::uint32_t element) {
  if (block.coding == Coding::kElias) return element;
  const unsigned above = 32 - block.bits;
  const auto value = static_cast<std::int32_t>(element << above) >> above;
  return static_cast<std::uint32_t>(value) << 1 ^ static_cast<std::uint32_t>(value >> 31);
}

std::uint32_t element_of(const CodedElements& block, std::uint32_t x) {
  const std::uint32_t value = block.coding == Coding::kElias ? x : x >> 1 ^ (0 - (x & 1));
  return value & static_cast<std::uint32_t>(low_ones(block.bits));
}

/// Reads a block's code. `elements` null: only checks it.
bool read(const CodedElements& block, ConstView code, std::uint32_t* elements) {
  BitReader bits(code);
  for (Elements i = 0; i < block.count; ++i) {
    const auto more = static_cast<unsigned>(std::countr_zero(bits.peek()));
    if (more > block.bits) return false;
    bits.skip(more + 1);
    const std::uint64_t one_more = std::uint64_t{1} << more | bits.take(more);
    if (bits.is_beyond() || one_more > std::uint64_t{1} << block.bits) return false;
    if (elements != nullptr) elements[i] = element_of(block, static_cast<std::uint32_t>(one_more - 1));
  }
  return bits.at_end();
}

}  // namespace

Bytes write_elias(const CodedElements& block, const std::byte* plain, std::byte* out) {
  std::array<std::uint32_t, kCodedBlock> elements;
  unpack_plain(block, plain, elements.data());
  BitWriter bits(out);
  for (Elements i = 0; i < block.count; ++i) {
    const std::uint64_t one_more = std::uint64_t{unsigned_of(block, elements[i])} + 1;
    const auto more = static_cast<unsigned>(std::bit_width(one_more)) - 1;
    bits.put(std::uint64_t{1} << more, more + 1);
    bits.put(one_more & low_ones(more), more);
  }
  const Bytes size = bits.finish();
  return size < block.plain_bytes() ? size : 0;
}

bool check_elias(const CodedElements& block, ConstView code) { return read(block, code, nullptr); }

void read_elias(const CodedElements& block, ConstView code, std::byte* plain) {
  std::array<std::uint32_t, kCodedBlock> elements;
  static_cast<void>(read(block, code, elements.data()));
  pack_plain(block, elements.data(), plain);
}

}  // namespace casync::compll
