// SPDX-License-Identifier: Apache-2.0
// Functions that text generated for turns calls: products, and elements that are picked from memory. Included after
// hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_TURNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_TURNS_INL_H_
#undef COMPLL_OPS_CPU_TURNS_INL_H_
#else
#define COMPLL_OPS_CPU_TURNS_INL_H_
#endif

#include "compll/ops/cpu/matrix-inl.h"
#include "compll/ops/cpu/selection-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// The places of the `wanted` largest of n elements, as Largest gives them.
template <class T>
HWY_INLINE void find_largest(size_t n, size_t wanted, const T* from, uint32_t* to, Workspace& memory) {
  const Array<T> elements{from};
  const auto key = [&](auto i) COMPLL_INLINE { return key_of(elements(i)); };
  std::copy_n(largest(n, wanted, key, memory).data, wanted, to);
}

/// The k-th largest of n elements, as KthLargest gives it.
template <class T>
HWY_INLINE T find_kth_largest(size_t n, size_t k, const T* from, Workspace& memory) {
  const Array<T> elements{from};
  return kth_largest<T>(
      n, k, [&](auto i) COMPLL_INLINE { return key_of(elements(i)); }, memory);
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
