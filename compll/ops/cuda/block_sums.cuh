// SPDX-License-Identifier: Apache-2.0
//
// Sums over the threads of a block.
#pragma once

#include "compll/ops/cuda/reducers.cuh"

namespace casync::compll::cuda {

/// The sum over the threads before this one, and over all.
template <class Word>
struct SumBefore {
  Word before, all;
};
/// All threads come here together. `of_warps`: shared memory, a word for each warp; its last readers need not be done.
template <class Word>
__device__ __forceinline__ SumBefore<Word> sum_before(uint64_t* of_warps, Word own) {
  const uint32_t lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  Word through = own;
#pragma unroll 1
  for (uint32_t by = 1; by < kLanes; by *= 2) {
    const Word others = __shfl_up_sync(kWholeWarp, through, by);
    if (lane >= by) through += others;
  }
  __syncthreads();
  if (lane == kLanes - 1) of_warps[warp] = through;
  __syncthreads();
  Word all = 0, before = through - own;
#pragma unroll
  for (uint32_t w = 0; w < kWarps; ++w) {
    if (w < warp) before += static_cast<Word>(of_warps[w]);
    all += static_cast<Word>(of_warps[w]);
  }
  return {before, all};
}

}  // namespace casync::compll::cuda
