// SPDX-License-Identifier: Apache-2.0
// Sixteen random numbers at a time (compll/ops/random.h). Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_RANDOM_INL_H_
#undef COMPLL_OPS_CPU_RANDOM_INL_H_
#else
#define COMPLL_OPS_CPU_RANDOM_INL_H_
#endif

#include "compll/ops/cpu/lanes-inl.h"
#include "compll/ops/random.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// Of the elements from `element` on. Four blocks of Philox give sixteen numbers where the first one begins a block;
/// else five are needed.
HWY_INLINE Uint random_group(const RandomStream& stream, uint64_t element, uint32_t purpose) {
  HWY_ALIGN uint32_t numbers[kGroup + 4];
  const std::array<std::uint32_t, 2> key = philox_key(stream);
  const uint64_t at = stream.first + element;
  const size_t skip = at % 4;
  for (size_t block = 0; block < (kGroup + skip + 3) / 4; ++block) {
    const uint64_t counter = at / 4 + block;
    const PhiloxBlock four =
        philox({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), stream.step, purpose}, key);
    std::memcpy(numbers + 4 * block, four.data(), sizeof four);
  }
  Uint r;
  COMPLL_EACH r.v[k] = hn::LoadU(U32(), numbers + skip + k * kLanes);
  return r;
}

HWY_INLINE Float uniform_group(const RandomStream& stream, uint64_t element, uint32_t purpose) {
  const Uint high = shift_right<8>(random_group(stream, element, purpose));
  return to_float(as_int(high)) * Float(0x1p-24f);
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
