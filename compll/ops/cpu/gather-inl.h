// SPDX-License-Identifier: Apache-2.0
// Brings the vector to encode into the first-level cache. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_GATHER_INL_H_
#undef COMPLL_OPS_CPU_GATHER_INL_H_
#else
#define COMPLL_OPS_CPU_GATHER_INL_H_
#endif

#include <hwy/cache_control.h>

#include "compll/ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// Elements in a group: whole vectors on every instruction set.
inline constexpr size_t kPadding = 16;

template <bool kPlain, bool kResidual>
HWY_INLINE void gather_loop(const Scaled& source, size_t count, float* to) {
  const Loader<kPlain, kResidual> load(source);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(load(i), F32(), to + i);
  for (; i < count; ++i) {
    to[i] = source.values[i];
    if constexpr (!kPlain) to[i] *= source.scale;
    if constexpr (kResidual) to[i] += source.residual[i];
  }
}

/// p[0..count): source.values itself where that is p already in whole groups, else `scratch` (which may be
/// source.values), padded with zeros to whole groups.
HWY_INLINE const float* gather(const Scaled& source, size_t count, float* scratch) {
  const bool whole = count % kPadding == 0;
  if (source.is_plain() && whole) return source.values;
  if (source.residual == nullptr) {
    source.scale == 1 ? gather_loop<true, false>(source, count, scratch)
                      : gather_loop<false, false>(source, count, scratch);
  } else {
    source.scale == 1 ? gather_loop<true, true>(source, count, scratch)
                      : gather_loop<false, true>(source, count, scratch);
  }
  for (size_t i = count; i % kPadding != 0; ++i) scratch[i] = 0;
  return scratch;
}

/// Prefetches the next tile's elements while this one is computed: computing alone leaves the memory idle. If there is
/// nothing to prefetch, the addresses are those at hand: that is faster than a branch.
class Ahead {
 public:
  HWY_INLINE Ahead(const Scaled& source, size_t count, const float* scratch)
      : values_(source.values == scratch ? scratch : source.values + count),
        residual_(source.residual == nullptr ? values_ : source.residual + count) {}

  /// To be called once for every vector of the tile.
  HWY_INLINE void fetch(size_t i) const {
    if (i % kPadding == 0) fetch_line(i);
  }
  /// To be called once for every 16 elements, a line of 64 bytes.
  HWY_INLINE void fetch_line(size_t i) const {
    hwy::Prefetch(values_ + i);
    hwy::Prefetch(residual_ + i);
  }

 private:
  const float* values_;
  const float* residual_;
};

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
