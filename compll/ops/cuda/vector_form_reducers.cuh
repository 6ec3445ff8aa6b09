// SPDX-License-Identifier: Apache-2.0
//
// Reductions of kernels in vector form, in the order of compll/interpreter/reductions.h. A warp takes a chunk, or a
// block; one warp reduces the chunks' results when all are there.
#pragma once

#include "compll/ops/cuda/vector_form.cuh"

namespace casync::compll::cuda {

/// Takes one warp's share of elements in their order: lanes take every sixteenth.
template <class Reducer, class A>
__device__ __forceinline__ void take_chunk(Reducer& reducer, uint64_t first, uint64_t size, const A& array) {
#pragma unroll 4
  for (uint64_t j = reduction_lane(); j < size; j += kReductionLanes) reducer.take(array(first + j));
}

/// Stores the result of each chunk of the tile. Reducer: LaneSum or LaneFold.
template <class Reducer, class A, class T>
__device__ __forceinline__ void reduce_chunks(const Part& part, uint64_t count, const A& array, T* of_chunks) {
  const uint64_t warp = threadIdx.x / kLanes;
  const uint64_t all = part.is_even ? part.segment.tile_count : 1;  // tiles that share all chunks
  const uint64_t begin = part.is_even ? uint64_t{part.tile} * kWarps * kReductionChunk : part.begin(count);
  const uint64_t end = part.is_even ? count : part.end(count);
  const uint64_t own = (warp - begin / kReductionChunk) % kWarps;  // the tile's chunks in turn, also one at a time
  for (uint64_t first = begin + own * kReductionChunk; first < end; first += all * kWarps * kReductionChunk) {
    Reducer reducer;
    take_chunk(reducer, first, least<uint64_t>(kReductionChunk, end - first), array);
    const T result = reducer.chunk();
    if (threadIdx.x % kLanes == 0) of_chunks[first / kReductionChunk] = result;
  }
}

/// Combines the results of all chunks, in the last tile's first warp. Chunks of chunks are reduced as elements are, and
/// take their place.
template <class Reducer, class T, class... Initial>
__device__ __forceinline__ void finish_chunks(uint64_t count, T* of_chunks, uint64_t* slot, Initial... initial) {
  if (threadIdx.x >= kLanes) return;
#pragma unroll 1
  for (uint64_t size = count; size > kReductionChunk;) {
    size = (size + kReductionChunk - 1) / kReductionChunk;
#pragma unroll 1
    for (uint64_t first = 0; size > 1 && first < size; first += kReductionChunk) {
      Reducer reducer;
      take_chunk(reducer, first, least<uint64_t>(kReductionChunk, size - first), Others<T>{of_chunks});
      const T result = reducer.chunk();
      if (threadIdx.x == 0) of_chunks[first / kReductionChunk] = result;
      __syncwarp();
    }
  }
  if (threadIdx.x != 0) return;
  *slot = in_slot(count == 0 ? Reducer::of_nothing(initial...) : Reducer::joined_to(Others<T>{of_chunks}(0), initial...));
}

/// Reduces into one word that all threads join: for reductions whose order cannot be seen.
template <class Reducer, class A>
__device__ __forceinline__ void reduce_joined(const Part& part, uint64_t count, const A& array, uint64_t* slot) {
  Reducer reducer;
  for_each(part, count, array, [&](uint64_t, const auto& value) { reducer.take(value); });
  join_tensor(reducer, slot);
}

/// Reduces each block of the tile by a warp, in order.
template <class Reducer, class A, class T, class... Initial>
__device__ __forceinline__ void reduce_blocks(const Part& part, uint64_t block, const A& array, T* out,
                                              Initial... initial) {
  const uint64_t end = part.end_block(block);
  for (uint64_t b = part.begin_block(block) + threadIdx.x / kLanes; b < end; b += kWarps) {
    const uint64_t begin = b * block, size = least(block, part.n - begin);
    Reducer reducer;
    for (uint64_t first = 0; first < size; first += kReductionChunk) {
      const uint64_t some = least<uint64_t>(kReductionChunk, size - first);
      take_chunk(reducer, begin + first, some, array);
      if (some == kReductionChunk) reducer.end_chunk();
    }
    const T result = static_cast<T>(reducer.result(initial...));
    if (threadIdx.x % kLanes == 0) out[b] = result;
  }
}

/// Reduces each block by a warp, if the order cannot be seen.
template <class Reducer, class A, class T>
__device__ __forceinline__ void join_blocks(const Part& part, uint64_t block, const A& array, T* out) {
  const uint64_t end = part.end_block(block);
  for (uint64_t b = part.begin_block(block) + threadIdx.x / kLanes; b < end; b += kWarps) {
    const uint64_t begin = b * block, size = least(block, part.n - begin);
    Reducer reducer;
#pragma unroll 4
    for (uint64_t j = threadIdx.x % kLanes; j < size; j += kLanes) reducer.take(array(begin + j));
    const uint64_t word = joined<Reducer>(reducer.word(), kLanes);
    if (threadIdx.x % kLanes == 0) out[b] = Reducer::value_of(word);
  }
}

}  // namespace casync::compll::cuda
