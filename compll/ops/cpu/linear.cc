// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/linear.h"

#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compll/ops/cpu/linear.cc"
#include <hwy/foreach_target.h>

#include "compll/ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

// The terms are loaded through pointers of any alignment: payloads lie where the network put them.
template <bool kPlain, bool kResidual, Write kWrite>
HWY_INLINE uint32_t sum_loop(const float* const* terms, size_t size, const Scaled& rest, size_t count, float* out) {
  const VecF scale = hn::Set(F32(), rest.scale);
  VecI top = hn::Zero(I32());
  const auto one = [&](size_t i, const auto& load) HWY_ATTR {
    VecF sum = load(terms[0], i);
    for (size_t term = 1; term < size; ++term) sum = hn::Add(sum, load(terms[term], i));
    if constexpr (!kPlain) sum = hn::Mul(sum, scale);
    if constexpr (kResidual) sum = hn::Add(sum, load(rest.residual, i));
    top = hn::Max(top, magnitude_bits(sum));
    return sum;
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    write<kWrite>(one(i, [](const float* from, size_t at) HWY_ATTR { return hn::LoadU(F32(), from + at); }), out + i);
  }
  if (i < count) {
    const size_t bytes = (count - i) * sizeof(float);
    HWY_ALIGN float tail[kLanes] = {};
    const auto load_tail = [&](const float* from, size_t at) HWY_ATTR {
      std::memcpy(tail, from + at, bytes);
      return hn::Load(F32(), tail);
    };
    hn::Store(one(i, load_tail), F32(), tail);
    std::memcpy(static_cast<void*>(out + i), tail, bytes);
  }
  return max_of_lanes(top);
}

template <bool kPlain, bool kResidual>
uint32_t sum_write(const float* const* terms, size_t size, const Scaled& rest, size_t count, float* out, Write mode) {
  if (mode == Write::kStream) return sum_loop<kPlain, kResidual, Write::kStream>(terms, size, rest, count, out);
  return sum_loop<kPlain, kResidual, Write::kPlain>(terms, size, rest, count, out);
}

uint32_t sum_terms(const float* const* terms, size_t size, const Scaled& rest, size_t count, float* out, Write mode) {
  const bool plain = rest.scale == 1;
  if (rest.residual == nullptr) {
    return plain ? sum_write<true, false>(terms, size, rest, count, out, mode)
                 : sum_write<false, false>(terms, size, rest, count, out, mode);
  }
  return plain ? sum_write<true, true>(terms, size, rest, count, out, mode)
               : sum_write<false, true>(terms, size, rest, count, out, mode);
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casync::compll {
HWY_EXPORT(sum_terms);

bool sum_scaled(std::span<const float* const> terms, float scale, const float* residual, Elements count, float* out,
                Write mode) {
  CASYNC_CHECK(!terms.empty() && mode != Write::kAdd);
  const Scaled rest{nullptr, scale, residual};
  return HWY_DYNAMIC_DISPATCH(sum_terms)(terms.data(), terms.size(), rest, count, out, mode) < kFloat32Infinity;
}

bool store_scaled(const Scaled& source, Elements count, float* out, Write mode) {
  return sum_scaled({&source.values, 1}, source.scale, source.residual, count, out, mode);
}

void copy_values(const float* values, Elements count, float* out, Write mode) {
  store_scaled(Scaled{values}, count, out, mode);
}

void add_values(const float* values, Elements count, float* out) {
  const float* terms[] = {out, values};
  sum_scaled(terms, 1, nullptr, count, out, Write::kPlain);
}

}  // namespace casync::compll
#endif  // HWY_ONCE
