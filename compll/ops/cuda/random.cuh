// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are a function of where they are used: those of compll/ops/random.h.
#pragma once

#include "compll/ops/cuda/types.cuh"

namespace casync::compll::cuda {

/// The inputs of one encoding's random numbers, apart from element and purpose.
struct RandomStream {
  uint32_t key[2];
  uint32_t step;
  uint64_t first;  ///< position of element 0 in the gradient

  COMPLL_BOTH RandomStream(uint64_t seed, uint64_t gradient, uint32_t at_step, uint64_t at_first)
      : step(at_step), first(at_first) {
    uint64_t mixed = gradient * 0x9e3779b97f4a7c15ull;
    mixed ^= mixed >> 32;
    mixed += seed;
    key[0] = static_cast<uint32_t>(mixed);
    key[1] = static_cast<uint32_t>(mixed >> 32);
  }
};

/// Philox4x32-7.
COMPLL_BOTH Quad<uint32_t> philox(const RandomStream& stream, uint64_t block, uint32_t purpose) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32), c2 = stream.step, c3 = purpose;
  uint32_t k0 = stream.key[0], k1 = stream.key[1];
#pragma unroll
  for (uint32_t round = 0; round < 7; ++round) {
    const uint64_t a = uint64_t{0xd2511f53u} * c0, b = uint64_t{0xcd9e8d57u} * c2;
    c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(b);
    c3 = static_cast<uint32_t>(a);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return {{c0, c1, c2, c3}};
}

/// The block of the four numbers of elements 4 * quad, ... of the gradient: in a group of 512 elements each 32 share
/// eight blocks, and add the word after theirs once more than the previous 32.
COMPLL_BOTH uint64_t random_block(uint64_t quad) { return quad / 128 * 8 + quad % 8; }
COMPLL_BOTH Quad<uint32_t> random_numbers(const Quad<uint32_t>& words, uint64_t quad) {
  const uint32_t turn = quad % 128 / 8;
  return {{words[0] + turn * words[1], words[1] + turn * words[2], words[2] + turn * words[3], words[3] + turn * words[0]}};
}
COMPLL_BOTH Quad<uint32_t> random_numbers(const RandomStream& stream, uint64_t quad, uint32_t purpose) {
  return random_numbers(philox(stream, random_block(quad), purpose), quad);
}

/// 32 random bits for element i of the encoding.
COMPLL_BOTH uint32_t random_bits(const RandomStream& stream, uint64_t i, uint32_t purpose) {
  const uint64_t at = stream.first + i;
  const Quad<uint32_t> drawn = random_numbers(stream, at / 4, purpose);
  return at % 4 == 0 ? drawn[0] : at % 4 == 1 ? drawn[1] : at % 4 == 2 ? drawn[2] : drawn[3];
}

/// The bits of elements i to i + 3: one block of Philox, or two if the encoding begins within one.
COMPLL_BOTH Quad<uint32_t> random_quad(const RandomStream& stream, uint64_t i, uint32_t purpose) {
  const uint64_t at = stream.first + i;
  const Quad<uint32_t> own = random_numbers(stream, at / 4, purpose);
  if (at % 4 == 0) return own;
  const Quad<uint32_t> next = random_numbers(stream, at / 4 + 1, purpose);
  if (at % 4 == 1) return {{own[1], own[2], own[3], next[0]}};
  if (at % 4 == 2) return {{own[2], own[3], next[0], next[1]}};
  return {{own[3], next[0], next[1], next[2]}};
}

/// Draws for a thread that goes through rows of 128 elements: computes a block of Philox once for the four rows that
/// share it.
class RandomQuads {
 public:
  COMPLL_BOTH RandomQuads(const RandomStream& stream, uint32_t purpose) : stream_(stream), purpose_(purpose) {}

  COMPLL_BOTH Quad<uint32_t> quad(uint64_t i) {
    const uint64_t at = stream_.first + i;
    if (at % 4 != 0) return random_quad(stream_, i, purpose_);
    const uint64_t block = random_block(at / 4);
    if (block != block_) words_ = philox(stream_, block, purpose_);
    block_ = block;
    return random_numbers(words_, at / 4);
  }

 private:
  const RandomStream& stream_;
  uint32_t purpose_;
  uint64_t block_ = ~uint64_t{0};
  Quad<uint32_t> words_ = {};
};

/// Draws for a thread that takes one number at a time, for neighbours: four of them share a block of Philox.
class RandomWords {
 public:
  COMPLL_BOTH explicit RandomWords(const RandomStream& stream) : stream_(stream) {}

  COMPLL_BOTH uint32_t word(uint64_t i, uint32_t purpose) {
    const uint64_t at = stream_.first + i;
    const uint64_t block = random_block(at / 4);
    if (block != block_ || purpose != purpose_) words_ = philox(stream_, block, purpose);
    block_ = block;
    purpose_ = purpose;
    const Quad<uint32_t> drawn = random_numbers(words_, at / 4);
    return at % 4 == 0 ? drawn[0] : at % 4 == 1 ? drawn[1] : at % 4 == 2 ? drawn[2] : drawn[3];
  }

 private:
  const RandomStream stream_;
  uint64_t block_ = ~uint64_t{0};
  uint32_t purpose_ = 0;
  Quad<uint32_t> words_ = {};
};
COMPLL_BOTH uint32_t random_bits(RandomWords& random, uint64_t i, uint32_t purpose) { return random.word(i, purpose); }

/// From 0 to below 1, a multiple of 2^-24.
COMPLL_BOTH float uniform(uint32_t random) { return static_cast<float>(random >> 8) * 0x1p-24f; }

}  // namespace casync::compll::cuda
