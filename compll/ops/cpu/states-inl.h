// SPDX-License-Identifier: Apache-2.0
// Reads and writes the arrays that generated codecs keep. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_STATES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_STATES_INL_H_
#undef COMPLL_OPS_CPU_STATES_INL_H_
#else
#define COMPLL_OPS_CPU_STATES_INL_H_
#endif

#include "compll/ops/cpu/program-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// The tile's elements of a state; null: they have their initial value.
HWY_INLINE const float* state_in(const GeneratedStates& states, size_t index) {
  return states.in == nullptr ? nullptr : states.in + index * states.stride;
}
HWY_INLINE float* state_out(const GeneratedStates& states, size_t index) {
  return states.out == nullptr ? nullptr : states.out + index * states.stride;
}

template <class Floats>
HWY_NOINLINE Floats load_floats_tail(const float* from, size_t rest) {
  HWY_ALIGN float values[kGroup] = {};
  std::memcpy(values, from, rest * sizeof(float));
  return load_floats(values);
}
/// Loads sixteen floats, with zeros after the last one.
HWY_INLINE Float load_some_floats(const float* from, size_t rest) {
  return rest < kGroup ? load_floats_tail<Float>(from, rest) : load_floats(from);
}
HWY_INLINE Float load_state(const float* state, float initial, size_t i, size_t rest) {
  return state == nullptr ? Float(initial) : load_some_floats(state + i, rest);
}
HWY_INLINE void fetch_state(const float* state, size_t i) {
  if (state != nullptr) hwy::Prefetch(state + i);
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
