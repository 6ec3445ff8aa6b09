// SPDX-License-Identifier: Apache-2.0
// The loop of all decoders: one pass for one code or for a sum of several. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_DECODE_INL_H_
#undef COMPLL_OPS_CPU_DECODE_INL_H_
#else
#define COMPLL_OPS_CPU_DECODE_INL_H_
#endif

#include <algorithm>

#include "compll/ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// out = the sum of kTerms decoded codes, in their order, held in registers. A Term decodes a vector at a multiple of
/// kLanes, with what its block shares loaded by `enter`; it may read no codes beyond `rest` lanes in `tail`. Terms
/// with small codes are fetched ahead, once for each line.
template <size_t kTerms, Write kWrite, class Term>
HWY_INLINE void sum_codes(const Term* source, size_t block, size_t count, float* out) {
  Term terms[kTerms];
  for (size_t t = 0; t < kTerms; ++t) terms[t] = source[t];
  for (size_t begin = 0; begin < count; begin += block) {
    for (size_t t = 0; t < kTerms; ++t) terms[t].enter(begin / block);
    const size_t end = std::min(begin + block, count);
    size_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      if constexpr (kTerms > 1 && requires { Term::kLineElements; }) {
        if (i % Term::kLineElements == 0) {
          for (size_t t = 0; t < kTerms; ++t) terms[t].fetch(i);
        }
      }
      VecF sum = kWrite == Write::kAdd ? hn::Add(hn::LoadU(F32(), out + i), terms[0].at(i)) : terms[0].at(i);
      for (size_t t = 1; t < kTerms; ++t) sum = hn::Add(sum, terms[t].at(i));
      write<kWrite == Write::kAdd ? Write::kPlain : kWrite>(sum, out + i);
    }
    if (i < end) {
      for (size_t t = 0; t < kTerms; ++t) {
        const VecF value = terms[t].tail(i, end - i);
        t == 0 ? write_tail<kWrite>(value, out + i, end - i) : write_tail<Write::kAdd>(value, out + i, end - i);
      }
    }
  }
}

/// The most terms of one sum_codes: their state fits in the registers of AVX2.
inline constexpr size_t kMostTerms = 4;

template <class Term>
void sum_code_terms(const Term* terms, size_t size, size_t block, size_t count, float* out, Write mode) {
  const bool add = mode == Write::kAdd;
  if (size == 1 && mode == Write::kStream) return sum_codes<1, Write::kStream>(terms, block, count, out);
  switch (size) {
    case 1:
      return add ? sum_codes<1, Write::kAdd>(terms, block, count, out)
                 : sum_codes<1, Write::kPlain>(terms, block, count, out);
    case 2:
      return add ? sum_codes<2, Write::kAdd>(terms, block, count, out)
                 : sum_codes<2, Write::kPlain>(terms, block, count, out);
    case 3:
      return add ? sum_codes<3, Write::kAdd>(terms, block, count, out)
                 : sum_codes<3, Write::kPlain>(terms, block, count, out);
    default: break;
  }
  add ? sum_codes<4, Write::kAdd>(terms, block, count, out) : sum_codes<4, Write::kPlain>(terms, block, count, out);
  if (size > kMostTerms) {
    sum_code_terms(terms + kMostTerms, size - kMostTerms, block, count, out, Write::kAdd);
  }
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
