// SPDX-License-Identifier: Apache-2.0
// Random numbers for generated text in vector form. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_VECTOR_FORM_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_VECTOR_FORM_RANDOM_INL_H_
#undef COMPLL_OPS_CPU_VECTOR_FORM_RANDOM_INL_H_
#else
#define COMPLL_OPS_CPU_VECTOR_FORM_RANDOM_INL_H_
#endif

#include "compll/ops/cpu/random-inl.h"
#include "compll/ops/cpu/vector_form_arrays-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// The array of numbers that random_bits gives for the elements 0, 1, ...
class RandomArray {
 public:
  HWY_INLINE RandomArray(const RandomStream& stream, uint32_t purpose)
      : stream_(stream), purpose_(purpose), random_(stream, 0, purpose) {}

  HWY_INLINE uint32_t operator()(size_t i) const { return random_bits(stream_, i, purpose_); }
  template <int kLoop, class Rest>
  HWY_INLINE Uint operator()(Sixteen<kLoop, Rest> i) const {
    return random_.bits(i.first);
  }

 private:
  RandomStream stream_;
  uint32_t purpose_;
  mutable Random random_;  // keeps what it has drawn ahead
};

using compll::uniform_from;
HWY_INLINE Float uniform_from(Uint bits) { return to_float(as_int(shift_right<8>(bits))) * Float(0x1p-24f); }

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
