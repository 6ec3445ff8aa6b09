// SPDX-License-Identifier: Apache-2.0
//
// Rotations of arrays in memory: each block is multiplied by the orthonormal Walsh-Hadamard matrix, by sums and
// differences of elements 1, 2, 4, ... apart. A block of threads takes a piece at a time: as many blocks as shared
// memory holds, or one larger block, which is rotated in `out`.
#pragma once

#include "compll/ops/cuda/hadamard.cuh"
#include "compll/ops/cuda/vector_form.cuh"

namespace casync::compll::cuda {

/// The elements of a piece that is not the last one.
COMPLL_BOTH uint32_t rotated_piece(uint32_t block) { return block > kVectorFormTile ? block : kVectorFormTile; }

/// Rotates the blocks of a piece, `size` elements from `first` on, where a block begins.
template <class A>
__device__ __forceinline__ void rotate_piece(const Part& part, uint32_t block, uint64_t first, uint32_t size,
                                             const A& array, float* out) {
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

/// Rotates the blocks of the tile's elements: a tile has whole ones.
template <class A>
__device__ __forceinline__ void hadamard(const Part& part, uint32_t block, const A& array, float* out) {
  const uint64_t end = part.end(part.n);
  const uint32_t piece = rotated_piece(block);
  for (uint64_t first = part.begin(part.n); first < end; first += piece) {
    rotate_piece(part, block, first, static_cast<uint32_t>(least<uint64_t>(piece, end - first)), array, out);
  }
  __syncthreads();
}

/// Rotates the blocks of an array of `count` elements, whose blocks are not those of tiles: tiles take its pieces in
/// turn.
template <class A>
__device__ __forceinline__ void hadamard_of_array(const Part& part, uint64_t count, uint32_t block, const A& array,
                                                  float* out) {
  const uint32_t piece = rotated_piece(block);
  const uint64_t step = uint64_t{part.segment.tile_count} * piece;
  for (uint64_t first = uint64_t{part.tile} * piece; first < count; first += step) {
    rotate_piece(part, block, first, static_cast<uint32_t>(least<uint64_t>(piece, count - first)), array, out);
  }
  __syncthreads();
}

}  // namespace casync::compll::cuda
