// SPDX-License-Identifier: Apache-2.0
// What text generated for whole vectors calls. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_WHOLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_WHOLE_INL_H_
#undef COMPLL_OPS_CPU_WHOLE_INL_H_
#else
#define COMPLL_OPS_CPU_WHOLE_INL_H_
#endif

#include "compll/ops/cpu/selection-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

// What is decoded, into memory.

template <class A>
HWY_INLINE void give(size_t n, const A& array, float* out, Give how) {
  if (how == Give::kSet) fill(n, array, out);
  if (how == Give::kAdd) {
    for (size_t i = 0; i < n; ++i) out[i] += array(i);
  }
  if (how == Give::kSubtract) {
    for (size_t i = 0; i < n; ++i) out[i] -= array(i);
  }
}

/// The same for zeros with values at places. kDistinct: none of them is there twice.
template <bool kDistinct, class P, class V>
HWY_INLINE void give_scattered(size_t n, size_t count, const P& places, const V& values, float* out, Give how,
                               Workspace& memory) {
  if (how == Give::kSet) {
    std::fill(out, out + n, 0.0f);
    set_at(count, places, values, n, out);
  } else if (!kDistinct) {
    float* whole = taken<float>(n, memory);
    give_scattered<true>(n, count, places, values, whole, Give::kSet, memory);
    give(n, Array<float>{whole}, out, how);
  } else {
    const bool adds = how == Give::kAdd;
    add_at(count, places, values, n, out, [=](float a, float b) HWY_ATTR { return adds ? a + b : a - b; });
  }
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
