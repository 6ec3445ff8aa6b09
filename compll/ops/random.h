// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are a function of where they are used: Philox4x32-7 of Salmon, Moraes, Dror, Shaw 2011,
// Parallel Random Numbers: As Easy as 1, 2, 3; seven rounds are the fewest that pass all of their tests. The same on
// every machine, in any order, and whenever they are asked for.
#pragma once

#include <array>
#include <cstdint>

namespace casync::compll {

/// The inputs of one encoding's random numbers, apart from element and purpose.
struct RandomStream {
  std::uint64_t seed = 0;      ///< the run's seed
  std::uint64_t gradient = 0;  ///< the gradient's key
  std::uint32_t step = 0;
  std::uint64_t first = 0;  ///< position of element 0 in the gradient
};

using PhiloxBlock = std::array<std::uint32_t, 4>;
inline constexpr int kPhiloxRounds = 7;
/// Elements that share eight blocks of Philox, and how many of them share a pair of words.
inline constexpr std::uint64_t kRandomGroup = 512;
inline constexpr std::uint64_t kRandomTurns = 16;

constexpr PhiloxBlock philox(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * counter[0], b = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return counter;
}

/// Seed and gradient as one key: two seeds never share a key for the same gradient, nor two gradients for the same
/// seed.
constexpr std::array<std::uint32_t, 2> philox_key(const RandomStream& stream) {
  std::uint64_t mixed = stream.gradient * 0x9e3779b97f4a7c15;  // odd: no two gradients become one
  mixed ^= mixed >> 32;
  mixed += stream.seed;
  return {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)};
}

/// 32 random bits for an element of the encoding. Four neighbours share one block of Philox, and with it the fours that
/// are 32, 64, ... further on in a group of 512: an element has a word of the block plus a multiple of the next one
/// (two-point sampling; Chor, Goldreich 1989, On the Power of Two-Point Based Sampling). The upper 24 bits of any two
/// are independent of each other, so sums have the variance that they have with numbers that share nothing.
constexpr std::uint32_t random_bits(const RandomStream& stream, std::uint64_t element, std::uint32_t purpose) {
  const std::uint64_t at = stream.first + element, in_group = at % kRandomGroup;
  const std::uint64_t each = kRandomGroup / kRandomTurns;
  const std::uint64_t block = at / kRandomGroup * 8 + in_group % each / 4;
  const PhiloxBlock counter{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), stream.step,
                            purpose};
  const PhiloxBlock words = philox(counter, philox_key(stream));
  return words[at % 4] + static_cast<std::uint32_t>(in_group / each) * words[(at + 1) % 4];
}

/// From 0 to below 1, a multiple of 2^-24.
constexpr float uniform_from(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

}  // namespace casync::compll
