// SPDX-License-Identifier: Apache-2.0
// Writes a tile's codes of two or four bits, many at a time where the instruction set gains from it. Included after
// hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_PACKED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_PACKED_INL_H_
#undef COMPLL_OPS_CPU_PACKED_INL_H_
#else
#define COMPLL_OPS_CPU_PACKED_INL_H_
#endif

#include "compll/ops/cpu/program-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

#if COMPLL_PACKS_PAIRS
/// Four times sixteen codes, each a number that its bits can hold, with or without a sign.
template <int kBits>
HWY_INLINE void store_together(const Int (&codes)[4], std::byte* to) {
  // Packing goes by the fours of a vector: they are put in order as 32 bits, four codes each.
  const __m512i halves = _mm512_packs_epi32(codes[0].v[0].raw, codes[1].v[0].raw);
  const __m512i others = _mm512_packs_epi32(codes[2].v[0].raw, codes[3].v[0].raw);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(halves, others));
  const __m512i clean = _mm512_and_si512(bytes, _mm512_set1_epi8((1 << kBits) - 1));
  if constexpr (kBits == 4) {
    const __m512i pairs = _mm512_maddubs_epi16(clean, _mm512_set1_epi16(0x1001));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(pairs));
  } else {
    const __m512i pairs = _mm512_maddubs_epi16(clean, _mm512_set1_epi16(0x0401));
    const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00100001));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(fours));
  }
}
#endif

/// A section of a tile. Packs groups that come by fours (for_fours) together: that takes half the instructions.
template <int kBits>
class PackedSection {
 public:
  HWY_INLINE explicit PackedSection(std::byte* section) : section_(section) {}

  template <class Rest>
  HWY_INLINE void store(Int codes, size_t i, Rest rest) {
#if COMPLL_PACKS_PAIRS
    if constexpr (requires { Rest::kPlace; }) {
      codes_[Rest::kPlace] = codes;
      if constexpr (Rest::kPlace == 3) store_together<kBits>(codes_, section_ + section_bytes<kBits>(i - 3 * kGroup));
      return;
    }
#endif
    store_section<kBits>(codes, section_, i, rest);
  }

  template <class Rest>
  HWY_INLINE void store(Uint codes, size_t i, Rest rest) {
    store(as_int(codes), i, rest);
  }

 private:
  std::byte* section_;
#if COMPLL_PACKS_PAIRS
  Int codes_[4];
#endif
};

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
