// SPDX-License-Identifier: Apache-2.0
//
// The number of elements up to the last one that is not zero (u16), then those as planes: byte 0 of all of them, then
// byte 1, and so on, each plane a sequence of its own (frequent_bytes.h). Of a float the sign goes behind the exponent,
// which so is a byte: in a gradient it takes few values, and what is below it looks like noise, unless it was rounded.
#include <algorithm>
#include <array>
#include <cstring>

#include "compll/codec/coded/bit_stream.h"
#include "compll/codec/coded/coded_block.h"
#include "compll/codec/coded/frequent_bytes.h"
#include "compll/ops/cpu/byte_planes.h"

namespace casync::compll {
namespace {

constexpr Bytes kPackedHead = sizeof(std::uint16_t);

struct Planes {
  alignas(64) std::array<std::array<std::uint8_t, kCodedBlock>, 8> bytes;
};

unsigned planes_of(const CodedElements& block) { return static_cast<unsigned>(ceil_div(block.bits, 8)); }

/// The greatest value of a byte in this plane.
unsigned most_in(const CodedElements& block, unsigned plane) {
  const unsigned used = block.bits - 8 * plane;
  return used >= 8 ? 255 : (1u << used) - 1;
}

void split_words(const std::uint32_t* words, Elements count, unsigned planes, Planes& out) {
  for (unsigned p = 0; p < planes; ++p) {
    for (Elements i = 0; i < count; ++i) out.bytes[p][i] = static_cast<std::uint8_t>(words[i] >> (8 * p));
  }
}

void join_words(const Planes& in, Elements count, unsigned planes, std::uint32_t* words) {
  for (Elements i = 0; i < count; ++i) words[i] = in.bytes[0][i];
  for (unsigned p = 1; p < planes; ++p) {
    for (Elements i = 0; i < count; ++i) words[i] |= std::uint32_t{in.bytes[p][i]} << (8 * p);
  }
}

void split(const CodedElements& block, const std::byte* plain, Planes& out) {
  if (block.bits == 32) {
    return split_bytes(plain, block.count, block.coding == Coding::kPackedFloats, out.bytes[0].data(), kCodedBlock);
  }
  if (block.bits == 64) {
    for (Elements i = 0; i < block.count; ++i) {
      for (unsigned p = 0; p < 8; ++p) out.bytes[p][i] = std::to_integer<std::uint8_t>(plain[8 * i + p]);
    }
    return;
  }
  alignas(64) std::array<std::uint32_t, kCodedBlock> words;
  unpack_plain(block, plain, words.data());
  split_words(words.data(), block.count, planes_of(block), out);
}

void join(const CodedElements& block, const Planes& in, std::byte* plain) {
  if (block.bits == 32) {
    return join_bytes(in.bytes[0].data(), kCodedBlock, block.count, block.coding == Coding::kPackedFloats, plain);
  }
  if (block.bits == 64) {
    for (Elements i = 0; i < block.count; ++i) {
      for (unsigned p = 0; p < 8; ++p) plain[8 * i + p] = std::byte{in.bytes[p][i]};
    }
    return;
  }
  alignas(64) std::array<std::uint32_t, kCodedBlock> words;
  join_words(in, block.count, planes_of(block), words.data());
  pack_plain(block, words.data(), plain);
}

/// The number at the beginning of a block's code; 0 if that is too short.
Elements count_in(ConstView code) {
  std::uint16_t count = 0;
  if (code.size >= kPackedHead) std::memcpy(&count, code.data, sizeof count);
  return count;
}

}  // namespace

Bytes write_packed(const CodedElements& block, const std::byte* plain, std::byte* out) {
  Planes planes;
  split(block, plain, planes);
  Elements count = block.count;
  const auto is_zero = [&](Elements i) {
    return std::none_of(planes.bytes.begin(), planes.bytes.begin() + planes_of(block),
                        [i](const auto& plane) { return plane[i] != 0; });
  };
  while (count != 0 && is_zero(count - 1)) --count;
  const auto sent = static_cast<std::uint16_t>(count);
  std::memcpy(out, &sent, sizeof sent);
  Bytes size = kPackedHead;
  for (unsigned p = 0; p < planes_of(block) && count != 0; ++p) {
    size += write_frequent(planes.bytes[p].data(), count, out + size);
  }
  return size < block.plain_bytes() ? size : 0;
}

Elements different_in_packed(ConstView code) { return count_in(code); }

bool check_packed(const CodedElements& block, ConstView code) {
  const Elements count = count_in(code);
  if (code.size < kPackedHead || count > block.count) return false;
  code = code.slice(kPackedHead, code.size - kPackedHead);
  for (unsigned p = 0; p < planes_of(block) && count != 0; ++p) {
    const Bytes size = check_frequent(code, count, most_in(block, p));
    if (size == 0) return false;
    code = code.slice(size, code.size - size);
  }
  return code.size == 0;
}

void read_packed(const CodedElements& block, ConstView code, std::byte* plain) {
  Planes planes;
  const Elements count = count_in(code);
  code = code.slice(kPackedHead, code.size - kPackedHead);
  for (unsigned p = 0; p < planes_of(block); ++p) {
    std::fill(planes.bytes[p].begin() + static_cast<std::ptrdiff_t>(count), planes.bytes[p].end(), std::uint8_t{0});
    if (count == 0) continue;
    const Bytes size = read_frequent(code, count, planes.bytes[p].data());
    code = code.slice(size, code.size - size);
  }
  join(block, planes, plain);
}

}  // namespace casync::compll
