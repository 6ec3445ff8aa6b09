// SPDX-License-Identifier: Apache-2.0
// Sixteen elements of a section of trits (compll/ops/trits.h) at a time. They lie in four bytes, whichever element they
// begin with. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_TRITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_TRITS_INL_H_
#undef COMPLL_OPS_CPU_TRITS_INL_H_
#else
#define COMPLL_OPS_CPU_TRITS_INL_H_
#endif

#include <cstring>
#include <type_traits>

#include "compll/ops/cpu/vector_form_arrays-inl.h"
#include "compll/ops/trits.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// Rounds towards zero; a value that does not fit becomes the nearest end, NaN becomes 0.
template <class T>
requires std::is_arithmetic_v<T> HWY_INLINE int32_t to_trit(T a) {
  if constexpr (std::is_unsigned_v<T>) {
    return a >= T{1};
  } else {
    return (a >= T{1}) - (a <= T{-1});
  }
}
HWY_INLINE Int to_trit(Float a) { return to_int(Float(1.0f) <= a) - to_int(a <= Float(-1.0f)); }
HWY_INLINE Int to_trit(Int a) { return min(max(a, Int(-1)), Int(1)); }
HWY_INLINE Int to_trit(Uint a) { return as_int(min(a, Uint(1u))); }
HWY_INLINE Int to_trit(Bool a) { return to_int(a); }

/// Tables for sixteen elements, of which the first is element `start` of its byte: the shift of an element's byte in
/// the four bytes' word, its place value in the word, 2^16 over three times its place value in the byte, rounded up.
struct TritTable {
  alignas(64) uint32_t down[5][kGroup] = {};
  alignas(64) uint32_t counts[5][kGroup] = {};
  alignas(64) uint32_t share[5][kGroup] = {};
  constexpr TritTable() {
    for (uint32_t start = 0; start < 5; ++start) {
      for (uint32_t i = 0; i < kGroup; ++i) {
        const uint32_t place = kTritPlaces[(start + i) % 5];
        down[start][i] = (start + i) / 5 * 8;
        counts[start][i] = place << down[start][i];
        share[start][i] = 65536 / (3 * place) + 1;
      }
    }
  }
};
inline constexpr TritTable kTritTable;

HWY_INLINE uint32_t packed_trits(Int trits, size_t start) {
  VecU sum = hn::Zero(U32());
  COMPLL_EACH {
    const VecU digits = hn::Min(hn::BitCast(U32(), trits.v[k]), hn::Set(U32(), 2u));  // the bits of -1 are the most
    sum = hn::Add(sum, hn::Mul(digits, hn::Load(U32(), kTritTable.counts[start] + k * kLanes)));
  }
  return hn::GetLane(hn::SumOfLanes(U32(), sum));
}

/// A byte over three times an element's place value has the element, in thirds, after the point. In units of 2^-16 that
/// is too much by less than 242, which takes no byte below 243 past its third.
HWY_INLINE Int unpacked_trits(uint32_t word, size_t start) {
  Int trits;
  COMPLL_EACH {
    const VecU bytes = hn::Shr(hn::Set(U32(), word), hn::Load(U32(), kTritTable.down[start] + k * kLanes));
    const VecU shares = hn::Load(U32(), kTritTable.share[start] + k * kLanes);
    const VecU part = hn::And(hn::Mul(hn::And(bytes, hn::Set(U32(), 255u)), shares), hn::Set(U32(), 0xffffu));
    const VecU digits = hn::ShiftRight<16>(hn::Add(part, hn::Add(part, part)));
    trits.v[k] = hn::BitCast(I32(), hn::Sub(hn::And(digits, hn::Set(U32(), 1u)), hn::ShiftRight<1>(digits)));
  }
  return trits;
}

/// Prefetches a section far ahead, once for each line of its memory.
HWY_INLINE void fetch_trits(const std::byte* section, size_t i) {
  if (i % 320 < kGroup) fetch_ahead(section + i / 5);
}

inline HWY_NOINLINE Int load_last_trits(const std::byte* from, size_t start, size_t rest) {
  uint32_t word = 0;
  std::memcpy(&word, from, (start + rest + 4) / 5);
  return unpacked_trits(word, start);
}
/// Loads elements i and on of a section.
HWY_INLINE Int load_trits(const std::byte* section, size_t i, size_t rest) {
  const std::byte* const from = section + i / 5;
  if (rest < kGroup) return load_last_trits(from, i % 5, rest);
  uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return unpacked_trits(word, i % 5);
}

inline HWY_NOINLINE void store_last_trits(const Int& trits, std::byte* to, size_t start, size_t rest) {
  uint32_t word = packed_trits(or_else(trits, Int(0), rest), start);
  if (start != 0) word += std::to_integer<uint32_t>(*to);
  std::memcpy(to, &word, (start + rest + 4) / 5);
}
/// Stores elements in their order: earlier ones have begun the byte.
HWY_INLINE void store_trits(Int trits, std::byte* section, size_t i, size_t rest) {
  std::byte* const to = section + i / 5;
  const size_t start = i % 5;
  if (rest < kGroup) return store_last_trits(trits, to, start, rest);
  uint32_t word = packed_trits(trits, start);
  if (start != 0) word += std::to_integer<uint32_t>(*to);
  std::memcpy(to, &word, sizeof word);
}

HWY_INLINE int32_t load_one_trit(const std::byte* section, size_t i) {
  const uint32_t digit = std::to_integer<uint32_t>(section[i / 5]) / kTritPlaces[i % 5] % 3;
  return digit == 2 ? -1 : static_cast<int32_t>(digit);
}
HWY_INLINE void store_one_trit(int32_t trit, std::byte* section, size_t i) {
  const uint32_t before = i % 5 == 0 ? 0 : std::to_integer<uint32_t>(section[i / 5]);
  section[i / 5] = static_cast<std::byte>(before + (trit < 0 ? 2 : trit) * kTritPlaces[i % 5]);
}

// Functions for text in vector form.

struct TritSection {
  const std::byte* at = nullptr;
  HWY_INLINE int32_t operator()(size_t i) const { return load_one_trit(at, i); }
  template <int kLoop, class Rest>
  HWY_INLINE Int operator()(Sixteen<kLoop, Rest> i) const {
    return load_trits(at, i.first, i.rest);
  }
};

template <int kLoop, class Rest>
HWY_INLINE void store_trits_at(Int trits, std::byte* at, Sixteen<kLoop, Rest> i) {
  store_trits(trits, at, i.first, i.rest);
}
template <class A>
HWY_INLINE void store_all_trits(size_t count, const A& array, std::byte* at) {
  for_sixteens(count, [&](auto i) COMPLL_INLINE { store_trits_at(array(i), at, i); });
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
