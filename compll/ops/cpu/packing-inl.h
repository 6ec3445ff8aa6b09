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

#include "compll/ops/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

using U8 = hn::Rebind<uint8_t, F32>;
using I8 = hn::Rebind<int8_t, F32>;
using U16 = hn::Rebind<uint16_t, F32>;
using I16 = hn::Rebind<int16_t, F32>;

/// Bytes that sixteen codes take.
template <int kBits>
inline constexpr size_t kGroupBytes = 2 * kBits;

// Any width, bit by bit: what the widths with instructions of their own do not need.
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

/// Writes sixteen codes. Of each the lowest `kBits` bits count.
template <int kBits>
HWY_INLINE void store_codes(Uint codes, std::byte* to) {
  if constexpr (kBits == 32) {
    COMPLL_EACH hn::StoreU(codes.v[k], U32(), reinterpret_cast<uint32_t*>(to) + k * kLanes);
#if HWY_TARGET != HWY_SCALAR
  } else if constexpr (kBits == 16) {
    COMPLL_EACH hn::StoreU(hn::TruncateTo(U16(), codes.v[k]), U16(), reinterpret_cast<uint16_t*>(to) + k * kLanes);
  } else if constexpr (kBits == 8) {
    COMPLL_EACH hn::StoreU(hn::TruncateTo(U8(), codes.v[k]), U8(), reinterpret_cast<uint8_t*>(to) + k * kLanes);
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
  } else if constexpr (kBits == 1 && kLanes >= 8) {
    COMPLL_EACH hn::StoreMaskBits(U32(), hn::Ne(hn::And(codes.v[k], hn::Set(U32(), 1u)), hn::Zero(U32())),
                                  reinterpret_cast<uint8_t*>(to) + k * kLanes / 8);
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

template <int kBits>
HWY_INLINE Uint load_uint(const std::byte* from) {
  Uint codes;
  if constexpr (kBits == 32) {
    COMPLL_EACH codes.v[k] = hn::LoadU(U32(), reinterpret_cast<const uint32_t*>(from) + k * kLanes);
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
  } else if constexpr (kBits == 1 && kLanes >= 8) {
    COMPLL_EACH codes.v[k] = hn::IfThenElseZero(
        hn::LoadMaskBits(U32(), reinterpret_cast<const uint8_t*>(from) + k * kLanes / 8), hn::Set(U32(), 1u));
#endif
  } else {
    HWY_ALIGN uint32_t each[kGroup];
    unpack_bits<kBits>(from, each);
    COMPLL_EACH codes.v[k] = hn::Load(U32(), each + k * kLanes);
  }
  return codes;
}

/// With the sign.
template <int kBits>
HWY_INLINE Int load_int(const std::byte* from) {
  const Int codes = as_int(load_uint<kBits>(from));
  return kBits == 32 ? codes : shift_right<32 - kBits>(shift_left<32 - kBits>(codes));
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
