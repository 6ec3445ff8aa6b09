// SPDX-License-Identifier: Apache-2.0
// Random numbers for text that is generated for whole vectors. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_WHOLE_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_WHOLE_RANDOM_INL_H_
#undef COMPLL_OPS_CPU_WHOLE_RANDOM_INL_H_
#else
#define COMPLL_OPS_CPU_WHOLE_RANDOM_INL_H_
#endif

#include "compll/ops/cpu/random-inl.h"
#include "compll/ops/cpu/whole_arrays-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// What random_bits gives for the elements 0, 1, ...
inline Array<uint32_t> random_array(size_t count, const RandomStream& stream, uint32_t purpose, Workspace& memory) {
  uint32_t* out = taken<uint32_t>(count + kGroup, memory);  // groups are stored whole
  Random random(stream, 0, purpose);
  for (size_t i = 0; i < count; i += kGroup) {
    const Uint group = random.bits(i);
    COMPLL_EACH hn::StoreU(group.v[k], U32(), out + i + k * kLanes);
  }
  return {out};
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
