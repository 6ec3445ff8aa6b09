// SPDX-License-Identifier: Apache-2.0
//
// A section's elements lie side by side, the lowest bit of a byte first. Four neighbours of `kBits` bits are kBits / 2
// bytes: one access for the usual widths. With an odd width they share a byte with the next four, and the thread of the
// first four writes it. Nothing is read or written after the section's last byte. Five trits are a byte.
#pragma once

#include "compll/ops/cuda/types.cuh"

namespace casync::compll::cuda {

/// The width of sections of -1, 0 and 1, five in a byte (compll/ops/trits.h), in place of the bits of an element.
inline constexpr uint32_t kTrits = 243;

COMPLL_BOTH uint64_t bytes_of_section(uint64_t entries, uint32_t entry_bits) {
  return entry_bits == kTrits ? (entries + 4) / 5 : (entries * entry_bits + 7) / 8;
}

/// The number left if four neighbours and the next four exist.
inline constexpr uint32_t kWholeRow = 8;

/// The bits of four elements.
struct Packed {
  uint64_t low = 0, high = 0;

  COMPLL_BOTH void put(uint64_t code, uint32_t at) {
    if (at < 64) low |= code << at;
    if (at >= 64) high |= code << (at - 64);
    if (at < 64 && at > 32) high |= code >> (64 - at);
  }
  COMPLL_BOTH uint32_t get(uint32_t at) const {
    if (at >= 64) return static_cast<uint32_t>(high >> (at - 64));
    return static_cast<uint32_t>(low >> at | (at > 32 ? high << (64 - at) : 0));
  }
  COMPLL_BOTH Packed without_lowest(uint32_t count) const {
    return {low >> count | high << (64 - count), high >> count};
  }
};

/// Packs the first `rest` of the four; the others are zeros.
template <uint32_t kBits>
COMPLL_BOTH Packed packed(const Quad<uint32_t>& codes, uint32_t rest) {
  Packed all;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    if (k < rest) all.put(codes[k] & (0xffffffffu >> (32 - kBits)), k * kBits);
  }
  return all;
}

/// Unpacks the four that begin at bit `shift`.
template <uint32_t kBits>
COMPLL_BOTH Quad<uint32_t> unpacked(const Packed& all, uint32_t shift) {
  Quad<uint32_t> codes;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) codes[k] = all.get(k * kBits + shift) & (0xffffffffu >> (32 - kBits));
  return codes;
}

COMPLL_BOTH Packed load_bytes(const unsigned char* from, uint32_t count) {
  Packed all;
#pragma unroll 1
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t byte = from[i];
    if (i < 8) all.low |= byte << (8 * i);
    if (i >= 8) all.high |= byte << (8 * i - 64);
  }
  return all;
}
COMPLL_BOTH void store_bytes(const Packed& all, unsigned char* to, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    to[i] = static_cast<unsigned char>(i < 8 ? all.low >> (8 * i) : all.high >> (8 * i - 64));
  }
}

template <class Word, class From>
COMPLL_BOTH Word load_word(const From* from) {
  return *reinterpret_cast<const Word*>(from);
}
template <class Word, class To>
COMPLL_BOTH void store_word(To* to, const Word& word) {
  *reinterpret_cast<Word*>(to) = word;
}

// Stores CUDA's own types, which the compiler knows to be one access.
COMPLL_BOTH void store_word(float* to, const Quad<float>& word) {
  *reinterpret_cast<float4*>(to) = make_float4(word[0], word[1], word[2], word[3]);
}
COMPLL_BOTH void store_word(unsigned char* to, const Quad<uint32_t>& word) {
  *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
}

/// Elements i to i + 3 of a section, of which `rest` are there; i is a multiple of 4.
template <uint32_t kBits>
COMPLL_BOTH Quad<uint32_t> load_quad(const unsigned char* section, uint64_t i, uint32_t rest) {
  const unsigned char* from = section + i * kBits / 8;
  constexpr uint32_t kShared = kBits % 2 == 0 ? 0 : 4;  // bits of the first byte that may be of others
  const uint32_t shift = i / 4 % 2 == 0 ? 0 : kShared;
  if (rest >= 4) {
    if constexpr (kBits == 32) return load_word<Quad<uint32_t>>(from);
    if constexpr (kBits == 16) return unpacked<kBits>({load_word<uint64_t>(from), 0}, 0);
    if constexpr (kBits == 8) return unpacked<kBits>({load_word<uint32_t>(from), 0}, 0);
    if constexpr (kBits == 4) return unpacked<kBits>({load_word<unsigned short>(from), 0}, 0);
    if constexpr (kBits < 4 && kBits != 3) return unpacked<kBits>({load_word<unsigned char>(from), 0}, shift);
    if constexpr (kShared == 0) {
      Packed all;
#pragma unroll
      for (uint32_t b = 0; b < kBits / 2; ++b) all.put(from[b], 8 * b);
      return unpacked<kBits>(all, 0);
    }
  }
  const uint32_t here = rest < 4 ? rest : 4;
  return unpacked<kBits>(load_bytes(from, (shift + here * kBits + 7) / 8), shift);
}

/// Loads the quad `ahead` elements further on. In a loop unrolled over rows, the first row's address is enough.
template <uint32_t kBits>
COMPLL_BOTH Quad<uint32_t> load_quad(const unsigned char* section, uint64_t i, uint32_t ahead, uint32_t rest) {
  if (ahead % 8 == 0) return load_quad<kBits>(section + ahead / 8 * kBits, i, rest);
  return load_quad<kBits>(section, i + ahead, rest);
}

/// Stores elements of an even width.
template <uint32_t kBits>
COMPLL_BOTH void store_even(const Packed& all, unsigned char* section, uint64_t i, uint32_t rest) {
  static_assert(kBits % 2 == 0);
  unsigned char* to = section + i * kBits / 8;
  if (rest >= 4) {
    if constexpr (kBits == 32) {
      return store_word(to, unpacked<32>(all, 0));
    }
    if constexpr (kBits == 16) return store_word(to, all.low);
    if constexpr (kBits == 8) return store_word(to, static_cast<uint32_t>(all.low));
    if constexpr (kBits == 4) return store_word(to, static_cast<unsigned short>(all.low));
    if constexpr (kBits == 2) return store_word(to, static_cast<unsigned char>(all.low));
  }
  const uint32_t here = rest < 4 ? rest : 4;
  store_bytes(all, to, (here * kBits + 7) / 8);
}

/// Stores elements of an odd width. `next` are the lowest four bits of the next thread's, for the byte that is shared:
/// the first of the two threads writes it. `rest` also counts elements after the thread's own four.
template <uint32_t kBits>
COMPLL_BOTH void store_odd(const Packed& all, uint32_t next, unsigned char* section, uint64_t i, uint32_t rest) {
  static_assert(kBits % 2 == 1);
  unsigned char* to = section + i * kBits / 8;
  const uint32_t here = rest < 4 ? rest : 4;
  if (i / 4 % 2 == 0) {
    Packed both = all;
    both.put(next, 4 * kBits);
    store_bytes(both, to, rest > 4 ? (4 * kBits + 4) / 8 : (here * kBits + 7) / 8);
  } else if (here * kBits > 4) {
    store_bytes(all.without_lowest(4), to + 1, (here * kBits - 4 + 7) / 8);
  }
}

/// Returns an element as it is stored; the bits above its width have any value.
COMPLL_BOTH uint32_t code_of(uint32_t x) { return x; }
COMPLL_BOTH uint32_t code_of(int32_t x) { return static_cast<uint32_t>(x); }
COMPLL_BOTH uint32_t code_of(bool x) { return x ? 1 : 0; }
COMPLL_BOTH uint32_t code_of(float x) { return bits(x); }

/// Element i of a section of trits.
COMPLL_BOTH int32_t load_trit(const unsigned char* section, uint64_t i) {
  uint32_t byte = section[i / 5];
  for (uint32_t behind = static_cast<uint32_t>(i % 5); behind != 0; --behind) byte /= 3;
  const uint32_t digit = byte % 3;
  return digit == 2 ? -1 : static_cast<int32_t>(digit);
}
/// Returns the byte with a trit put in front of the trits that it has.
COMPLL_BOTH uint32_t with_trit(uint32_t byte, int32_t trit) {
  return 3 * byte + least(static_cast<uint32_t>(trit), 2u);  // the bits of -1 are the most
}

/// Loads single entries, of whole bytes: one for each block, or one for the tensor.
template <uint32_t kBits>
COMPLL_BOTH uint32_t load_one(const unsigned char* section, uint64_t entry) {
  constexpr uint32_t kBytes = (kBits + 7) / 8;
  const unsigned char* from = section + entry * kBytes;
  if constexpr (kBits == 32) return load_word<uint32_t>(from);
  return static_cast<uint32_t>(load_bytes(from, kBytes).low) & (0xffffffffu >> (32 - kBits));
}
COMPLL_BOTH double load_double(const unsigned char* section, uint64_t entry) {
  return load_word<double>(section + 8 * entry);
}

template <uint32_t kBits>
COMPLL_BOTH void store_one(uint32_t value, unsigned char* section, uint64_t entry) {
  constexpr uint32_t kBytes = (kBits + 7) / 8;
  unsigned char* to = section + entry * kBytes;
  if constexpr (kBits == 32) return store_word(to, value);
  store_bytes({value & (0xffffffffu >> (32 - kBits)), 0}, to, kBytes);
}
template <uint32_t kBits>
COMPLL_BOTH void store_one(int32_t value, unsigned char* section, uint64_t entry) {
  store_one<kBits>(static_cast<uint32_t>(value), section, entry);
}
template <uint32_t kBits>
COMPLL_BOTH void store_one(bool value, unsigned char* section, uint64_t entry) {
  store_one<kBits>(value ? 1u : 0u, section, entry);
}
template <uint32_t kBits>
COMPLL_BOTH void store_one(float value, unsigned char* section, uint64_t entry) {
  store_one<32>(bits(value), section, entry);
}
template <uint32_t kBits>
COMPLL_BOTH void store_one(double value, unsigned char* section, uint64_t entry) {
  store_word(section + 8 * entry, value);
}

COMPLL_BOTH bool is_aligned(const float* at) { return reinterpret_cast<uint64_t>(at) % 16 == 0; }

/// Loads four floats, at any address that floats may have.
COMPLL_BOTH Quad<float> load_floats(const float* from, uint32_t rest) {
  if (rest >= 4 && is_aligned(from)) return load_word<Quad<float>>(from);
  Quad<float> values;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) values[k] = k < rest ? from[k] : 0.0f;
  return values;
}
/// Brings a line into the second cache.
__device__ __forceinline__ void prefetch([[maybe_unused]] const void* at) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}
/// Called by all threads of a block: brings in elements of a section, a line by each thread.
template <uint32_t kBits>
__device__ __forceinline__ void ask_for_section(const unsigned char* section, uint64_t first, uint64_t count) {
  constexpr uint32_t kLine = 128;
  const uint64_t end = (first + count) * kBits / 8;
#pragma unroll 1
  for (uint64_t at = first * kBits / 8 + kLine * threadIdx.x; at < end; at += kLine * kThreads) prefetch(section + at);
}
__device__ __forceinline__ void store_aligned(const Quad<float>& values, float* to) {
  __stcg(reinterpret_cast<float4*>(to), make_float4(values[0], values[1], values[2], values[3]));
}
__device__ __forceinline__ void store_floats(const Quad<float>& values, float* to, uint32_t rest) {
  // Bypasses the first cache: the compiler would join a plain store with the four below.
  if (rest >= 4 && is_aligned(to)) return store_aligned(values, to);
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    if (k < rest) to[k] = values[k];
  }
}

}  // namespace casync::compll::cuda
