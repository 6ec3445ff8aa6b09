// SPDX-License-Identifier: Apache-2.0
// Sixteen elements of a payload's section at a time: codes of 1 to 32 bits, the lowest bits of a byte first. Included
// after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_PACKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_PACKING_INL_H_
#undef COMPLL_OPS_CPU_PACKING_INL_H_
#else
#define COMPLL_OPS_CPU_PACKING_INL_H_
#endif

#include <cstddef>
#include <cstring>

#include "compll/ops/cpu/conversions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

using U8 = hn::Rebind<uint8_t, F32>;
using I8 = hn::Rebind<int8_t, F32>;
using I16 = hn::Rebind<int16_t, F32>;

/// Bytes that sixteen codes take.
template <int kBits>
inline constexpr size_t kGroupBytes = 2 * kBits;

// Packs any width bit by bit, for the widths without instructions of their own.
template <int kBits>
HWY_INLINE void pack_bits(const uint32_t* codes, std::byte* to) {
  uint64_t held = 0;
  size_t count = 0;
  for (size_t i = 0; i < kGroup; ++i) {
    held |= static_cast<uint64_t>(codes[i] & ((uint64_t{1} << kBits) - 1)) << count;
    for (count += kBits; count >= 8; count -= 8, held >>= 8) *to++ = static_cast<std::byte>(held);
  }
}
template <int kBits>
HWY_INLINE void unpack_bits(const std::byte* from, uint32_t* codes) {
  uint64_t held = 0;
  size_t count = 0;
  for (size_t i = 0; i < kGroup; ++i) {
    for (; count < kBits; count += 8) held |= static_cast<uint64_t>(std::to_integer<unsigned>(*from++)) << count;
    codes[i] = static_cast<uint32_t>(held & ((uint64_t{1} << kBits) - 1));
    held >>= kBits;
    count -= kBits;
  }
}

/// Sixteen bits, the lowest one first.
HWY_INLINE Bool load_bits(const std::byte* from) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(from);
  Bool bits;
  if constexpr (kLanes >= 8) {
    COMPLL_EACH bits.v[k] = hn::LoadMaskBits(F32(), bytes + k * kLanes / 8);
  } else {
    const unsigned group = bytes[0] | static_cast<unsigned>(bytes[1]) << 8;
    COMPLL_EACH {
      const uint8_t some[8] = {static_cast<uint8_t>(group >> (k * kLanes))};
      bits.v[k] = hn::LoadMaskBits(F32(), some);
    }
  }
  return bits;
}

/// Writes a bit for each of sixteen, the first one lowest.
template <int kBits>
HWY_INLINE void store_codes(Bool codes, std::byte* to) {
  static_assert(kBits == 1);
  auto* bytes = reinterpret_cast<uint8_t*>(to);
  if constexpr (kLanes >= 8) {
    COMPLL_EACH hn::StoreMaskBits(F32(), codes.v[k], bytes + k * kLanes / 8);
  } else {
    unsigned group = 0;
    COMPLL_EACH {
      uint8_t bits[8];
      hn::StoreMaskBits(F32(), codes.v[k], bits);
      group |= static_cast<unsigned>(bits[0]) << (k * kLanes);
    }
    bytes[0] = static_cast<uint8_t>(group);
    bytes[1] = static_cast<uint8_t>(group >> 8);
  }
}

#undef COMPLL_PACKS_PAIRS
#define COMPLL_PACKS_PAIRS (COMPLL_IS_X86 && HWY_TARGET <= HWY_AVX3)
#if COMPLL_PACKS_PAIRS
/// Packs neighbours into one number: adds the second one, times a power of two, to the first.
HWY_INLINE void store_pairs(VecU codes, std::byte* to) {
  const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_and_si512(codes.raw, _mm512_set1_epi32(15)));
  const __m128i pairs = _mm_maddubs_epi16(bytes, _mm_set1_epi16(0x1001));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(pairs, pairs));
}
HWY_INLINE void store_fours(VecU codes, std::byte* to) {
  const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_and_si512(codes.raw, _mm512_set1_epi32(3)));
  const __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(bytes, _mm_set1_epi16(0x0401)), _mm_set1_epi32(0x00100001));
  const int word = _mm_cvtsi128_si32(_mm_cvtepi32_epi8(fours));
  std::memcpy(to, &word, sizeof word);
}
#endif

/// Writes the lowest `kBits` bits of sixteen codes.
template <int kBits>
HWY_INLINE void store_codes(Uint codes, std::byte* to) {
  if constexpr (kBits == 32) {
    COMPLL_EACH hn::StoreU(codes.v[k], U32(), reinterpret_cast<uint32_t*>(to) + k * kLanes);
#if HWY_TARGET != HWY_SCALAR
  } else if constexpr (kBits == 16) {
    COMPLL_EACH hn::StoreU(hn::TruncateTo(U16(), codes.v[k]), U16(), reinterpret_cast<uint16_t*>(to) + k * kLanes);
  } else if constexpr (kBits == 8) {
    COMPLL_EACH hn::StoreU(hn::TruncateTo(U8(), codes.v[k]), U8(), reinterpret_cast<uint8_t*>(to) + k * kLanes);
#if COMPLL_PACKS_PAIRS
  } else if constexpr (kBits == 4) {
    store_pairs(codes.v[0], to);
  } else if constexpr (kBits == 2) {
    store_fours(codes.v[0], to);
#else
  } else if constexpr (kBits == 4) {
    // A pair of codes is one lane of 16 bits, and as such becomes one byte.
    using Pairs = hn::Repartition<uint16_t, U8>;
    using Packed = hn::Rebind<uint8_t, Pairs>;
    COMPLL_EACH {
      const auto pairs = hn::BitCast(Pairs(), hn::TruncateTo(U8(), codes.v[k]));
      const auto low = hn::And(pairs, hn::Set(Pairs(), uint16_t{0x000f}));
      const auto high = hn::And(hn::ShiftRight<4>(pairs), hn::Set(Pairs(), uint16_t{0x00f0}));
      hn::StoreU(hn::TruncateTo(Packed(), hn::Or(low, high)), Packed(),
                 reinterpret_cast<uint8_t*>(to) + k * kLanes / 2);
    }
  } else if constexpr (kBits == 2 && kLanes >= 8) {
    // As for 4 bits, and then once more: four codes are one lane of 32 bits.
    using Fours = hn::Repartition<uint32_t, U8>;
    using Packed = hn::Rebind<uint8_t, Fours>;
    COMPLL_EACH {
      const auto bytes = hn::BitCast(Fours(), hn::TruncateTo(U8(), codes.v[k]));
      const auto clean = hn::And(bytes, hn::Set(Fours(), 0x03030303u));
      const auto pairs = hn::Or(clean, hn::ShiftRight<6>(clean));
      const auto fours =
          hn::Or(hn::And(pairs, hn::Set(Fours(), 0x0fu)), hn::And(hn::ShiftRight<12>(pairs), hn::Set(Fours(), 0xf0u)));
      hn::StoreU(hn::TruncateTo(Packed(), fours), Packed(), reinterpret_cast<uint8_t*>(to) + k * kLanes / 4);
    }
#endif
  } else if constexpr (kBits == 1) {
    store_codes<1>(to_bool(codes & Uint(1u)), to);
#endif
  } else {
    HWY_ALIGN uint32_t each[kGroup];
    COMPLL_EACH hn::Store(codes.v[k], U32(), each + k * kLanes);
    pack_bits<kBits>(each, to);
  }
}
template <int kBits>
HWY_INLINE void store_codes(Int codes, std::byte* to) {
  store_codes<kBits>(as_uint(codes), to);
}
template <int kBits>
HWY_INLINE void store_codes(Float values, std::byte* to) {
  static_assert(kBits == 32);
  store_codes<32>(bits(values), to);
}

// A word that many codes share is shifted for each lane by its own distance.
template <int kBits>
inline constexpr bool kShared = (kBits == 2 || kBits == 4) && HWY_TARGET != HWY_SCALAR&& kLanes >= 8;

template <int kBits>
struct Shifts {
  alignas(64) uint32_t down[kGroup] = {};  ///< to the lowest bits
  alignas(64) uint32_t up[kGroup] = {};    ///< to the highest bits
  constexpr Shifts() {
    for (uint32_t i = 0; i < kGroup; ++i) {
      down[i] = i * kBits % 32;
      up[i] = 32 - kBits - down[i];
    }
  }
};
template <int kBits>
inline constexpr Shifts<kBits> kShifts;

/// Loads into each lane the word that its code is a part of.
template <int kBits>
HWY_INLINE VecU load_words(const std::byte* from, size_t part) {
  const std::byte* at = from + part * kLanes * kBits / 32 * 4;
  if constexpr (kLanes * kBits <= 32) {
    uint32_t word;
    std::memcpy(&word, at, sizeof word);
    return hn::Set(U32(), word);
  } else {
    uint64_t words;
    std::memcpy(&words, at, sizeof words);
    HWY_ALIGN static constexpr int32_t kSecond[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    const auto both = hn::BitCast(U32(), hn::Set(hn::Repartition<uint64_t, U32>(), words));
    return hn::TableLookupLanes(both, hn::SetTableIndices(U32(), kSecond));
  }
}
/// Loads sixteen codes into the lowest bits; the bits above them have any value.
template <int kBits>
HWY_INLINE Uint load_low(const std::byte* from) {
  Uint codes;
  if constexpr (kShared<kBits>) {
    COMPLL_EACH codes.v[k] = hn::Shr(load_words<kBits>(from, k), hn::Load(U32(), kShifts<kBits>.down + k * kLanes));
#if HWY_TARGET != HWY_SCALAR
  } else if constexpr (kBits == 16) {
    COMPLL_EACH codes.v[k] =
        hn::PromoteTo(U32(), hn::LoadU(U16(), reinterpret_cast<const uint16_t*>(from) + k * kLanes));
  } else if constexpr (kBits == 8) {
    COMPLL_EACH codes.v[k] = hn::PromoteTo(U32(), hn::LoadU(U8(), reinterpret_cast<const uint8_t*>(from) + k * kLanes));
  } else if constexpr (kBits == 4) {
    using Pairs = hn::Repartition<uint16_t, U8>;
    using Packed = hn::Rebind<uint8_t, Pairs>;
    COMPLL_EACH {
      const auto bytes =
          hn::PromoteTo(Pairs(), hn::LoadU(Packed(), reinterpret_cast<const uint8_t*>(from) + k * kLanes / 2));
      const auto both = hn::And(hn::Or(bytes, hn::ShiftLeft<4>(bytes)), hn::Set(Pairs(), uint16_t{0x0f0f}));
      codes.v[k] = hn::PromoteTo(U32(), hn::BitCast(U8(), both));
    }
#endif
  } else if constexpr (kBits == 32) {
    COMPLL_EACH codes.v[k] = hn::LoadU(U32(), reinterpret_cast<const uint32_t*>(from) + k * kLanes);
  } else if constexpr (kBits == 1) {
    codes = to_uint(load_bits(from));
  } else {
    HWY_ALIGN uint32_t each[kGroup];
    unpack_bits<kBits>(from, each);
    COMPLL_EACH codes.v[k] = hn::Load(U32(), each + k * kLanes);
  }
  return codes;
}

template <int kBits>
HWY_INLINE Uint load_uint(const std::byte* from) {
  const Uint codes = load_low<kBits>(from);
  return kShared<kBits> ? codes & Uint((uint32_t{1} << (kBits % 32)) - 1) : codes;
}

/// Loads sixteen codes with their signs.
template <int kBits>
HWY_INLINE Int load_int(const std::byte* from) {
  if constexpr (kBits == 32) return as_int(load_low<kBits>(from));
  if constexpr (kShared<kBits>) {
    Int codes;
    COMPLL_EACH {
      const VecU high = hn::Shl(load_words<kBits>(from, k), hn::Load(U32(), kShifts<kBits>.up + k * kLanes));
      codes.v[k] = hn::ShiftRight<32 - kBits>(hn::BitCast(I32(), high));
    }
    return codes;
#if HWY_TARGET != HWY_SCALAR
  } else if constexpr (kBits == 16) {
    Int codes;
    COMPLL_EACH codes.v[k] =
        hn::PromoteTo(I32(), hn::LoadU(I16(), reinterpret_cast<const int16_t*>(from) + k * kLanes));
    return codes;
  } else if constexpr (kBits == 8) {
    Int codes;
    COMPLL_EACH codes.v[k] = hn::PromoteTo(I32(), hn::LoadU(I8(), reinterpret_cast<const int8_t*>(from) + k * kLanes));
    return codes;
#endif
  } else {
    return shift_right<32 - kBits>(shift_left<32 - kBits>(as_int(load_low<kBits>(from))));
  }
}

HWY_INLINE Float load_float(const std::byte* from) { return from_bits(load_uint<32>(from)); }

HWY_INLINE Float load_floats(const float* from) {
  Float values;
  COMPLL_EACH values.v[k] = hn::LoadU(F32(), from + k * kLanes);
  return values;
}
HWY_INLINE void store_floats(Float values, float* to) { COMPLL_EACH hn::StoreU(values.v[k], F32(), to + k * kLanes); }
HWY_INLINE void stream_floats(Float values, float* to) { COMPLL_EACH hn::Stream(values.v[k], F32(), to + k * kLanes); }

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
