// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ops/cuda/whole.cuh"

namespace casync::compll::cuda {

/// The power of two that an element of a block is turned with: the block's size, or where it is short the largest powers
/// of two that it is cut into, the largest first.
COMPLL_BOTH uint64_t turned_with(uint64_t at, uint64_t size) {
  uint64_t part = uint64_t{1} << 63;
  for (uint64_t begin = 0;;) {
    while (part > size - begin) part /= 2;
    if (at < begin + part) return part;
    begin += part;
  }
}

/// Each block times the orthonormal Walsh-Hadamard matrix: sums and differences of elements 1, 2, 4, ... apart, as many
/// blocks at a time as shared memory holds; larger ones in `out`.
template <class A>
__device__ __forceinline__ void hadamard(const Part& part, uint64_t block, const A& array, float* out) {
  const uint64_t end = part.end(part.n), piece = block > kWholeTile ? block : kWholeTile / block * block;
  for (uint64_t first = part.begin(part.n); first < end; first += piece) {
    const uint64_t size = least(piece, end - first);
    float* const x = block > kWholeTile ? out + first : reinterpret_cast<float*>(part.shared.words);
    __syncthreads();
    for (uint64_t j = threadIdx.x; j < size; j += kThreads) x[j] = array(first + j);
    const uint64_t whole = size / block * block;  // what is behind it is a short block
    for (uint64_t half = 1; half < block; half *= 2) {
      __syncthreads();
      for (uint64_t pair = threadIdx.x; 2 * pair < size; pair += kThreads) {
        const uint64_t i = pair / half * 2 * half + pair % half;
        if (i + half >= size) continue;
        if (i >= whole && turned_with(i - whole, size - whole) <= half) continue;
        const float a = x[i], b = x[i + half];
        x[i] = add(a, b);
        x[i + half] = subtract(a, b);
      }
    }
    __syncthreads();
    for (uint64_t j = threadIdx.x; j < size; j += kThreads) {
      const uint64_t turned = j < whole ? block : turned_with(j - whole, size - whole);
      out[first + j] = multiply(x[j], static_cast<float>(1 / sqrt(static_cast<double>(turned))));
    }
  }
  __syncthreads();
}

}  // namespace casync::compll::cuda
