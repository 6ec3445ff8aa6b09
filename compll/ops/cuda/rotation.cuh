// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ops/cuda/hadamard.cuh"
#include "compll/ops/cuda/vector_form.cuh"

namespace casync::compll::cuda {

/// Multiplies each block by the orthonormal Walsh-Hadamard matrix: sums and differences of elements 1, 2, 4, ... apart,
/// as many blocks at a time as shared memory holds; larger blocks in `out`.
template <class A>
__device__ __forceinline__ void hadamard(const Part& part, uint32_t block, const A& array, float* out) {
  const uint64_t end = part.end(part.n);
  const uint32_t piece = block > kVectorFormTile ? block : kVectorFormTile;
  for (uint64_t first = part.begin(part.n); first < end; first += piece) {
    const uint32_t size = static_cast<uint32_t>(least<uint64_t>(piece, end - first));
    const uint32_t whole = size / block * block;  // a short block follows
    float* const x = block > kVectorFormTile ? out + first : reinterpret_cast<float*>(part.shared.words);
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < size; j += kThreads) x[j] = array(first + j);
    for (uint32_t half = 1; half < block; half *= 2) {
      __syncthreads();
      for (uint32_t pair = threadIdx.x; 2 * pair < size; pair += kThreads) {
        const uint32_t low = pair & (half - 1), i = 2 * (pair - low) + low;
        if (i + half >= size) continue;
        if (i >= whole && rotated_with(i - whole, size - whole) <= half) continue;
        const float a = x[i], b = x[i + half];
        x[i] = add(a, b);
        x[i + half] = subtract(a, b);
      }
    }
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < size; j += kThreads) {
      const uint32_t width = j < whole ? block : rotated_with(j - whole, size - whole);
      out[first + j] = multiply(x[j], orthonormal_scale(width));
    }
  }
  __syncthreads();
}

}  // namespace casync::compll::cuda
