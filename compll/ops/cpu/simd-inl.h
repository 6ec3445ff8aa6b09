// SPDX-License-Identifier: Apache-2.0
// The part that the kernels share, compiled once per instruction set; included after hwy/foreach_target.h only.
// All of it is elementwise or order-free, so every instruction set computes the same bytes.
#if defined(COMPLL_OPS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_SIMD_INL_H_
#undef COMPLL_OPS_CPU_SIMD_INL_H_
#else
#define COMPLL_OPS_CPU_SIMD_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compll/ops/scaled.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Never more than 16 lanes: blocks are multiples of 16, so only the last vector of a payload can be a partial one.
using F32 = hn::CappedTag<float, 16>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using VecF = hn::Vec<F32>;
using VecI = hn::Vec<I32>;
using VecU = hn::Vec<U32>;
inline constexpr size_t kLanes = hn::MaxLanes(F32());

/// Codes lie at any address. One lane is a plain C++ access, which needs memcpy for that.
template <class D>
HWY_INLINE hn::Vec<D> load_codes(D d, const void* from) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(D()) == 1) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return hn::Set(d, value);
  } else {
    return hn::LoadU(d, static_cast<const T*>(from));
  }
}

template <class D>
HWY_INLINE void store_codes(hn::Vec<D> v, D d, void* to) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(D()) == 1) {
    const T value = hn::GetLane(v);
    std::memcpy(to, &value, sizeof value);
  } else {
    hn::StoreU(v, d, static_cast<T*>(to));
  }
}

/// Distance in bytes at which memory is fetched ahead of its use. The machine's own prefetchers stop at the end of a
/// page of 4 KiB, and lose a handful of streams altogether: measured, a merge of four gains a third from this.
inline constexpr size_t kFetchAhead = 1024;

/// Floats go by faster than codes: with 1 KiB an encoding out of memory takes up to a third longer.
inline constexpr size_t kFetchFloatsAhead = 4096;

/// Prefetches the line that is `bytes` after `at`; an address beyond the end of memory does no harm.
HWY_INLINE void fetch_ahead(const void* at, size_t bytes = kFetchAhead) {
  hwy::Prefetch(static_cast<const std::byte*>(at) + bytes);
}

HWY_INLINE float load_scale(const std::byte* scales, size_t index) {
  float scale;
  std::memcpy(&scale, scales + index * sizeof scale, sizeof scale);
  return scale;
}

/// Computes p: one multiplication and one addition per element, whichever are needed.
template <bool kPlain, bool kResidual>
struct Loader {
  Scaled source;
  VecF scale;

  explicit HWY_INLINE Loader(const Scaled& from) : source(from), scale(hn::Set(F32(), from.scale)) {}
  HWY_INLINE VecF operator()(size_t i) const {
    VecF p = hn::LoadU(F32(), source.values + i);
    if constexpr (!kPlain) p = hn::Mul(p, scale);
    if constexpr (kResidual) p = hn::Add(p, hn::LoadU(F32(), source.residual + i));
    return p;
  }
};

template <Write kWrite>
HWY_INLINE void write(VecF v, float* to) {
  if constexpr (kWrite == Write::kStream) {
    hn::Stream(v, F32(), to);
  } else if constexpr (kWrite == Write::kAdd) {
    hn::StoreU(hn::Add(hn::LoadU(F32(), to), v), F32(), to);
  } else {
    hn::StoreU(v, F32(), to);
  }
}

/// Writes the first `rest` lanes.
template <Write kWrite>
HWY_INLINE void write_tail(VecF v, float* to, size_t rest) {
  HWY_ALIGN float lanes[kLanes] = {};
  if constexpr (kWrite == Write::kAdd) std::memcpy(lanes, to, rest * sizeof(float));
  write<kWrite == Write::kAdd ? Write::kAdd : Write::kPlain>(v, lanes);
  std::memcpy(to, lanes, rest * sizeof(float));
}

/// The magnitude's bits, whose integer order is the order of magnitudes, with infinity and NaN on top.
HWY_INLINE VecI magnitude_bits(VecF v) { return hn::BitCast(I32(), hn::Abs(v)); }

HWY_INLINE uint32_t max_of_lanes(VecI v) { return static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(I32(), v))); }

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
