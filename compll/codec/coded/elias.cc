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

/// The codes that eight bits begin with, as many as end there, up to four.
struct Begun {
  std::array<std::uint8_t, 4> numbers{};
  std::uint8_t count = 0, bits = 0;
};

constexpr std::array<Begun, 256> all_begun() {
  std::array<Begun, 256> all{};
  for (unsigned byte = 0; byte < all.size(); ++byte) {
    Begun& begun = all[byte];
    while (begun.count < begun.numbers.size()) {
      const unsigned rest = byte >> begun.bits;
      const auto more = static_cast<unsigned>(std::countr_zero(rest));
      if (rest == 0 || begun.bits + 2 * more + 1 > 8) break;
      const unsigned one_more = 1u << more | (rest >> more >> 1 & ((1u << more) - 1));
      begun.numbers[begun.count++] = static_cast<std::uint8_t>(one_more - 1);
      begun.bits = static_cast<std::uint8_t>(begun.bits + 2 * more + 1);
    }
  }
  return all;
}
constexpr std::array<Begun, 256> kBegun = all_begun();
constexpr unsigned kMostBegun = 4;  // bits of a number in kBegun

/// Reads the next number x; false: none of at most `most` bits is there.
bool read_one(BitReader& bits, unsigned most, std::uint32_t* x) {
  const auto more = static_cast<unsigned>(std::countr_zero(bits.peek()));
  if (more > most) return false;
  bits.skip(more + 1);
  const std::uint64_t one_more = std::uint64_t{1} << more | bits.take(more);
  *x = static_cast<std::uint32_t>(one_more - 1);
  return !bits.is_beyond() && one_more <= std::uint64_t{1} << most;
}

/// Reads a block's code. `elements` null: only checks it.
bool read_elements(const CodedElements& block, ConstView code, std::uint32_t* elements) {
  BitReader bits(code);
  Elements i = 0;
  while (i < block.count) {
    const Begun& begun = kBegun[bits.peek() & 0xff];
    if (begun.count != 0 && block.count - i >= begun.numbers.size() && block.bits >= kMostBegun) {
      bits.skip(begun.bits);
      for (std::size_t k = 0; elements != nullptr && k < begun.numbers.size(); ++k) {
        elements[i + k] = element_of(block, begun.numbers[k]);
      }
      i += begun.count;
      continue;
    }
    std::uint32_t x = 0;
    if (!read_one(bits, block.bits, &x)) return false;
    if (elements != nullptr) elements[i] = element_of(block, x);
    ++i;
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
    const std::uint64_t one = std::uint64_t{1} << more, low = one_more & low_ones(more);
    if (2 * more + 1 <= BitWriter::kMostBits) {
      bits.put(one | low << more << 1, 2 * more + 1);
    } else {
      bits.put(one, more + 1);
      bits.put(low, more);
    }
  }
  const Bytes size = bits.finish();
  return size < block.plain_bytes() ? size : 0;
}

bool check_elias(const CodedElements& block, ConstView code) { return read_elements(block, code, nullptr); }

void read_elias(const CodedElements& block, ConstView code, std::byte* plain) {
  std::array<std::uint32_t, kCodedBlock> elements;
  static_cast<void>(read_elements(block, code, elements.data()));
  pack_plain(block, elements.data(), plain);
}

}  // namespace casync::compll
