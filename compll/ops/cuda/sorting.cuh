// SPDX-License-Identifier: Apache-2.0
//
// Sorting, stable and in the interpreter's order: merging runs of 1, 2, 4, ... elements ends whatever a program's
// function says. Comparing numbers with each other is faster: tiles sort runs of their own, then each element counts
// the elements of other runs that go ahead of it. A NaN, which is in no order, needs the slow way.
#pragma once

#include "compll/ops/cuda/vector_form.cuh"

namespace casync::compll::cuda {

inline constexpr uint32_t kRun = kVectorFormTile / 2;

/// Merges runs of 1, 2, 4, ... elements, in the interpreter's order whatever `goes_before` says: one block of threads
/// does it, and each of them merges two runs. `spare` has as much room as `out`, where the elements end up.
template <class T, class A, class Less>
__device__ __forceinline__ void sort(const Part& part, uint64_t count, const A& array, T* out, T* spare,
                                     const Less& goes_before) {
  if (part.tile != 0) return;
  uint32_t passes = 0;
  for (uint64_t run = 1; run < count; run *= 2) ++passes;
  T* from = passes % 2 == 0 ? out : spare;
  T* to = passes % 2 == 0 ? spare : out;
  for (uint64_t i = threadIdx.x; i < count; i += kThreads) from[i] = array(i);
  for (uint64_t run = 1; run < count; run *= 2) {
    __syncthreads();
    for (uint64_t begin = 2 * run * threadIdx.x; begin < count; begin += 2 * run * kThreads) {
      const uint64_t middle = least(begin + run, count), end = least(begin + 2 * run, count);
      uint64_t left = begin, right = middle;
      for (uint64_t i = begin; i < end; ++i) {
        const bool takes_right = left == middle || (right != end && goes_before(from[right], from[left]));
        to[i] = from[takes_right ? right++ : left++];
      }
    }
    T* const merged = to;
    to = from;
    from = merged;
  }
  __syncthreads();
}

/// Returns the number of elements in a sorted run that go ahead of x, or, with kEqual, that do not go after it.
template <bool kEqual, class T, class Less>
COMPLL_BOTH uint32_t count_before(const T* run, uint32_t size, T x, const Less& goes_before) {
  uint32_t low = 0;
  while (low < size) {
    const uint32_t middle = low + (size - low) / 2;
    const bool before = kEqual ? !goes_before(x, run[middle]) : goes_before(run[middle], x);
    before ? low = middle + 1 : size = middle;
  }
  return low;
}

/// Sorts each run of the tile's share, and notes NaN.
template <class T, class A, class Less>
__device__ __forceinline__ void sort_runs(const Part& part, uint64_t count, const A& array, T* runs, uint32_t* has_nan,
                                          const Less& goes_before) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  const uint64_t end = part.end(count);
  for (uint64_t first = part.begin(count); first < end; first += kRun) {
    const uint32_t size = static_cast<uint32_t>(least<uint64_t>(kRun, end - first));
    T* from = reinterpret_cast<T*>(part.shared.words);
    T* to = from + kRun;
    for (uint32_t i = threadIdx.x; i < size; i += kThreads) {
      from[i] = array(first + i);
      if (from[i] != from[i]) atomicMax(has_nan, 1u);
    }
    for (uint32_t run = 1; run < size; run *= 2) {
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < size; i += kThreads) {
        const uint32_t begin = i / (2 * run) * 2 * run, middle = least(begin + run, size);
        const uint32_t behind = least(middle + run, size);
        const uint32_t others = i < middle ? count_before<false>(from + middle, behind - middle, from[i], goes_before)
                                           : count_before<true>(from + begin, middle - begin, from[i], goes_before);
        to[i < middle ? i + others : i - (middle - begin) + others] = from[i];
      }
      T* const merged = to;
      to = from;
      from = merged;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < size; i += kThreads) runs[first + i] = from[i];
    __syncthreads();
  }
}

/// A stage later: an element's place is the number of elements ahead of it in all runs. Equal ones of earlier runs are.
template <class T, class A, class Less>
__device__ __forceinline__ void merge_runs(const Part& part, uint64_t count, const A& array, T* runs, T* out, T* spare,
                                           uint32_t has_nan, const Less& goes_before) {
  if (has_nan != 0) return sort(part, count, array, out, spare, goes_before);
  for_each(part, count, Array<T>{runs}, [&](uint64_t i, T x) {
    uint64_t place = i % kRun;
    for (uint64_t first = 0; first < count; first += kRun) {
      const uint32_t size = static_cast<uint32_t>(least<uint64_t>(kRun, count - first));
      if (first < i / kRun * kRun) place += count_before<true>(runs + first, size, x, goes_before);
      if (first > i) place += count_before<false>(runs + first, size, x, goes_before);
    }
    out[place] = x;
  });
}

}  // namespace casync::compll::cuda
