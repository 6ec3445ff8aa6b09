// SPDX-License-Identifier: Apache-2.0
//
// Loops over a tile's share of elements. Memory answers late: a thread asks for several elements ahead of using one.
#pragma once

#include "compll/ops/cuda/stages.cuh"
#include "compll/ops/sizes.h"

namespace casync::compll::cuda {

/// Elements that a thread loads ahead of using any of them.
inline constexpr uint32_t kAhead = 8;
/// Elements that a warp has in so many rows of 32.
inline constexpr uint32_t kBatch = kAhead * kLanes;

/// Calls body for each element of the tile's share: neighbours go to neighbouring threads.
template <class Body>
__device__ __forceinline__ void for_each(const Part& part, uint64_t count, const Body& body) {
  const uint64_t end = part.end(count);
#pragma unroll 4
  for (uint64_t i = part.begin(count) + threadIdx.x; i < end; i += kThreads) body(i);
}
/// Loads several elements ahead of storing any: `load` returns the value to store, and stores nothing itself.
template <class Load, class Store>
__device__ __forceinline__ void for_each(const Part& part, uint64_t count, const Load& load, const Store& store) {
  const uint64_t end = part.end(count);
  uint64_t i = part.begin(count) + threadIdx.x;
#pragma unroll 1
  for (; i + (kAhead - 1) * kThreads < end; i += kAhead * kThreads) {
    decltype(load(i)) loaded[kAhead];
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) loaded[k] = load(i + k * kThreads);
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) store(i + k * kThreads, loaded[k]);
  }
#pragma unroll 1
  for (; i < end; i += kThreads) store(i, load(i));
}

template <class T, class A>
__device__ __forceinline__ void fill(const Part& part, uint64_t count, const A& array, T* out) {
  for_each(part, count, array, [&](uint64_t i, T value) { out[i] = value; });
}

/// Fills an array whose neighbours have something in common that a thread computes once.
template <class T, class A>
__device__ __forceinline__ void fill_neighbours(const Part& part, uint64_t count, const A& array, T* out) {
  const uint64_t end = part.end(count);
  const bool aligned = sizeof(T) == 4 && is_aligned(reinterpret_cast<const float*>(out));
#pragma unroll 1
  for (uint64_t i = part.begin(count) + 4 * threadIdx.x; i < end; i += 4 * kThreads) {
    const uint32_t size = static_cast<uint32_t>(least<uint64_t>(end - i, 4));
    Quad<T> values;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (k < size) values[k] = array(i + k);
    }
    if (aligned && size == 4) {
      store_word(out + i, values);
      continue;
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (k < size) out[i + k] = values[k];
    }
  }
}

/// Returns one element of an array that stays in registers although its index is computed at run time.
template <class T>
__device__ __forceinline__ T one_of(const T (&values)[kAhead], uint32_t index) {
  T value = values[0];
#pragma unroll
  for (uint32_t k = 1; k < kAhead; ++k) value = index == k ? values[k] : value;
  return value;
}

/// The element that a loop has at hand, as an array.
template <class T>
struct Held {
  T value;
  __device__ T operator()(uint64_t) const { return value; }
};

/// The vector to encode: scale * in + residual. Notes whether all magnitudes are below the one with these bits.
template <uint32_t kOverflow = 0x7f800000u>
class Input {
 public:
  __device__ __forceinline__ Input(const Part& part, uint64_t otherwise, Held<float>& held)
      : in_(part.segment.in, part.segment.in_type),
        residual_(in_global(part.segment.residual_in)),
        out_(part.is_input_made() ? part.made_input(otherwise) : nullptr),
        has_residual_(part.segment.residual_in != nullptr),
        is_made_(part.is_input_made()),
        scale_(part.segment.scale),
        control_(part.control),
        held_(held) {}

  /// Takes a warp's whole batch, from this thread's element on. False: it has a NaN, and has to be taken row by row.
  __device__ __forceinline__ bool take(uint64_t i) {
    in_.some<Plain>(x_, i, kLanes);
    if (has_residual_) {
      float more[kAhead];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) more[k] = residual_[i + k * kLanes];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) x_[k] = x_[k] * scale_ + more[k];
    } else if (scale_ != 1) {
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) x_[k] *= scale_;
    }
    uint32_t top = 0;
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) top = max(top, bits(x_[k]) & 0x7fffffffu);
    if (__any_sync(kWholeWarp, top > 0x7f800000u)) return false;
    top_ = max(top_, top);
    if (!is_made_) return true;
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) out_[i + k * kLanes] = x_[k];
    return true;
  }
  /// Puts the thread's element of a row at hand.
  __device__ __forceinline__ void hold(uint32_t row) { held_.value = x_[row]; }

  /// Takes one element of a row and puts it at hand: NaN has the bits that it has on the CPU.
  __device__ __forceinline__ void take_row(uint64_t i) {
    float x = in_(i);
    if (scale_ != 1) x = multiply(x, scale_);
    if (has_residual_) x = add(x, residual_[i]);
    top_ = max(top_, bits(x) & 0x7fffffffu);
    if (is_made_) out_[i] = x;
    held_.value = x;
  }

  /// Called by all threads of a warp after the last element.
  __device__ __forceinline__ void end() const {
    if (!__all_sync(kWholeWarp, top_ < kOverflow) && threadIdx.x % kLanes == 0) atomicMax(&control_->not_finite, 1u);
  }

 private:
  const Elements in_;
  const float* const residual_;
  float* const out_;
  const bool has_residual_, is_made_;
  const float scale_;
  Control* const control_;
  Held<float>& held_;
  float x_[kAhead];
  uint32_t top_ = 0;
};

/// The batches of a tile's share that are this warp's, one after the other: body gets the first place of each, and its
/// number of elements.
template <class Body>
__device__ __forceinline__ void for_batches(const Part& part, uint64_t count, const Body& body) {
  const uint64_t end = part.end(count);
#pragma unroll 1
  for (uint64_t first = part.begin(count) + threadIdx.x / kLanes * kBatch; first < end; first += kWarps * kBatch) {
    body(first, static_cast<uint32_t>(least<uint64_t>(kBatch, end - first)));
  }
}

template <uint32_t kOverflow = 0x7f800000u>
__device__ __forceinline__ void take_input(const Part& part, uint64_t otherwise) {
  Held<float> held;
  Input<kOverflow> input(part, otherwise, held);
  const uint32_t lane = threadIdx.x % kLanes;
  for_batches(part, part.n, [&](uint64_t first, uint32_t size) {
    if (size == kBatch && input.take(first + lane)) return;
#pragma unroll 1
    for (uint32_t j = lane; j < size; j += kLanes) input.take_row(first + j);
  });
  input.end();
}

}  // namespace casync::compll::cuda
