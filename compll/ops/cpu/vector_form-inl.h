// SPDX-License-Identifier: Apache-2.0
// Functions that generated text in vector form calls. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_VECTOR_FORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_VECTOR_FORM_INL_H_
#undef COMPLL_OPS_CPU_VECTOR_FORM_INL_H_
#else
#define COMPLL_OPS_CPU_VECTOR_FORM_INL_H_
#endif

#include "compll/ops/cpu/selection-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

// Decoding into memory.

template <int kLoop, class Rest>
HWY_INLINE void give_sixteen(Float values, float* out, Give how, Write mode, Sixteen<kLoop, Rest> i) {
  if (how == Give::kAdd) values = load_group(out + i.first, i.rest) + values;
  if (how == Give::kSubtract) values = load_group(out + i.first, i.rest) - values;
  put(values, out, mode, i);
}
template <class A>
HWY_INLINE void give(size_t n, const A& array, float* out, Give how) {
  for_sixteens(n, [&](auto i) COMPLL_INLINE { give_sixteen(array(i), out, how, Write::kPlain, i); });
}
/// The way in which a decoded vector is written.
inline Write mode_of(const float* out, size_t n, Give how) {
  constexpr size_t kLeast = size_t{1} << 22;  // a shorter one may be read at once
  return how == Give::kSet && n >= kLeast ? mode_of(out, n) : Write::kPlain;
}

/// Gives zeros with values at places. kDistinct: no place occurs twice.
template <bool kDistinct, class P, class V>
HWY_INLINE void give_scattered(size_t n, size_t count, const P& places, const V& values, float* out, Give how,
                               [[maybe_unused]] Workspace& memory) {
  if (how == Give::kSet) {
    std::fill(out, out + n, 0.0f);
    return set_at(count, places, values, n, out);
  }
  const bool adds = how == Give::kAdd;
  const auto join = [=](float a, float b) HWY_ATTR { return adds ? a + b : a - b; };
  if constexpr (kDistinct) {
    add_at(count, places, values, n, out, join);
  } else {
    add_last_at(count, places, values, n, out, join, memory);
  }
}

/// Stores places and values in memory.
template <class P, class V>
HWY_INLINE ListedVector listed_vector(size_t count, const P& places, const V& values, Workspace& memory) {
  auto* const listed_places = taken<uint32_t>(count, memory);
  auto* const listed_values = taken<float>(count, memory);
  for (size_t i = 0; i < count; ++i) listed_places[i] = static_cast<uint32_t>(places(i));
  for (size_t i = 0; i < count; ++i) listed_values[i] = values(i);
  return {listed_places, listed_values, count};
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
