// SPDX-License-Identifier: Apache-2.0
//
// The bytes of words by their places, and codes of few bits for bytes: loops of compll/codec/coded, with the best
// instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace casync::compll {

/// Byte p of word i goes to planes[p * stride + i], for p from 0 to 3. `floats`: the sign goes behind the exponent
/// first, which so is byte 3. Words may lie at any address.
void split_bytes(const std::byte* words, std::size_t count, bool floats, std::uint8_t* planes, std::size_t stride);
/// The reverse.
void join_bytes(const std::uint8_t* planes, std::size_t stride, std::size_t count, bool floats, std::byte* words);

/// Writes a code of two bits for each byte, the lowest bits of a byte first, zeros in the end: the index of its value,
/// of at most three, or 3. Stores the bytes that have none in `others`, which has room for one more than `count`, and
/// returns their number.
std::size_t write_two_bits(const std::uint8_t* bytes, std::size_t count, std::span<const std::uint8_t> values,
                           std::byte* codes, std::uint8_t* others);

/// A bit for each code of `width` bits that is all ones: the lowest one of the code.
constexpr std::uint64_t all_ones(std::uint64_t codes, unsigned width) {
  std::uint64_t all = codes, lowest = 0;
  for (unsigned bit = 1; bit < width; ++bit) all &= codes >> bit;
  for (unsigned bit = 0; bit + width <= 64; bit += width) lowest |= std::uint64_t{1} << bit;
  return all & lowest;
}

/// The number of codes that are all ones, of `count` codes of 1 to 4 bits.
std::size_t count_all_ones(const std::byte* codes, std::size_t count, unsigned width);

}  // namespace casync::compll
