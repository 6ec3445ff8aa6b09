// SPDX-License-Identifier: Apache-2.0
//
// Chosen places, in ascending order: a tile learns from earlier tiles how many they have.
#pragma once

#include "compll/ops/cuda/vector_form.cuh"

namespace casync::compll::cuda {

inline constexpr uint32_t kNoPlace = 0xffffffffu;

/// The word that a tile tells later ones: its upper bits say if it counts this tile alone, or all tiles up to it.
__device__ __forceinline__ uint64_t in_look_back(uint64_t flag, uint32_t above, uint32_t equal) {
  return flag << 62 | uint64_t{above} << 31 | equal;
}

/// Returns the counts above and equal in earlier tiles: adds up the latest ones, back to one that knows the sum of all.
/// Called by one warp.
__device__ __forceinline__ uint64_t look_back(const uint64_t* told, uint32_t tile) {
  uint32_t above = 0, equal = 0;
#pragma unroll 1
  for (int32_t from = static_cast<int32_t>(tile) - 1; from >= 0; from -= static_cast<int32_t>(kLanes)) {
    const int32_t at = from - static_cast<int32_t>(threadIdx.x % kLanes);
    uint64_t word = uint64_t{2} << 62;  // there is no tile ahead of the first
    do {
      if (at >= 0) word = load_slot(told + at);
    } while (!__all_sync(kWholeWarp, word >> 62 != 0));
    const uint32_t whole = __ballot_sync(kWholeWarp, word >> 62 == 2);
    const uint32_t first = whole == 0 ? kLanes : __ffs(static_cast<int32_t>(whole)) - 1;
    if (threadIdx.x % kLanes > first) word = 0;
    above += sum_of_warp(static_cast<uint32_t>(word >> 31) & 0x7fffffffu);
    equal += sum_of_warp(static_cast<uint32_t>(word) & 0x7fffffffu);
    if (whole != 0) break;
  }
  return uint64_t{above} << 32 | equal;
}

/// Stores the first `wanted` places that are chosen, in ascending order; then kNoPlace. `rows` visits this warp's rows
/// in their order: visit gets whether a place is chosen, whether it is chosen if it is one of the first `equal` such
/// places, and the place. `told`: a word for each tile, zero at first.
template <class ForRows>
__device__ __forceinline__ void pick(const Part& part, const ForRows& rows, uint32_t equal, uint64_t wanted,
                                     uint64_t* told, uint32_t* out) {
  const uint32_t lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  uint64_t* const shared = part.shared.told;
  uint64_t all = 0, others = 0;      // upper half: above; lower half: equal
  uint32_t aboves = 0, equals = 0;  // this thread's, then those of all earlier places
  // Counts all of them, then writes. The loop is not unrolled: the code that finds out what is chosen is long.
#pragma unroll 1
  for (bool is_counted = false;; is_counted = true) {
    rows([&](bool is_above, bool is_equal, uint32_t place) {
      if (!is_counted) {
        aboves += is_above ? 1 : 0;
        equals += is_equal ? 1 : 0;
        return;
      }
      const uint32_t above = __ballot_sync(kWholeWarp, is_above), same = __ballot_sync(kWholeWarp, is_equal);
      const uint32_t below = (1u << lane) - 1;
      const uint32_t equals_before = equals + static_cast<uint32_t>(__popc(same & below));
      const uint64_t rank =
          uint64_t{aboves} + static_cast<uint32_t>(__popc(above & below)) + least(equals_before, equal);
      if ((is_above || (is_equal && equals_before < equal)) && rank < wanted) out[rank] = place;
      aboves += static_cast<uint32_t>(__popc(above));
      equals += static_cast<uint32_t>(__popc(same));
    });
    if (is_counted) break;
    aboves = sum_of_warp(aboves);
    equals = sum_of_warp(equals);
    if (lane == 0) shared[warp] = uint64_t{aboves} << 32 | equals;
    __syncthreads();
    uint64_t before = 0;
#pragma unroll
    for (uint32_t w = 0; w < kWarps; ++w) {
      if (w < warp) before += shared[w];
      all += shared[w];
    }
    if (warp == 0 && !part.is_alone()) {
      const uint32_t above = static_cast<uint32_t>(all >> 32), same = static_cast<uint32_t>(all);
      if (lane == 0) atomicMax(told + part.tile, in_look_back(part.tile == 0 ? 2 : 1, above, same));
      others = look_back(told, part.tile);
      if (lane == 0 && part.tile != 0) {
        atomicMax(told + part.tile, in_look_back(2, above + static_cast<uint32_t>(others >> 32),
                                                 same + static_cast<uint32_t>(others)));
      }
      if (lane == 0) shared[kWarps] = others;
    }
    __syncthreads();
    others = part.is_alone() ? 0 : shared[kWarps];
    aboves = static_cast<uint32_t>((others + before) >> 32);
    equals = static_cast<uint32_t>(others + before);
  }
  if (part.tile + 1 != part.segment.tile_count) return;
  all += others;
  const uint64_t chosen = (all >> 32) + least(static_cast<uint32_t>(all), equal);
#pragma unroll 1
  for (uint64_t i = chosen + threadIdx.x; i < wanted; i += kThreads) out[i] = kNoPlace;
}

/// Stores the first places at which a condition holds.
template <class A>
__device__ __forceinline__ void pick_where(const Part& part, uint64_t count, const A& condition, uint64_t wanted,
                                           uint64_t* told, uint32_t* out) {
  const uint64_t first = part.begin(count), last = part.end(count);
  const uint64_t each = (last - first + kWarps - 1) / kWarps;
  const uint64_t begin = least(first + threadIdx.x / kLanes * each, last), end = least(begin + each, last);
  const auto rows = [&](const auto& visit) {
#pragma unroll 4
    for (uint64_t row = begin; row < end; row += kLanes) {
      const uint64_t i = row + threadIdx.x % kLanes;
      visit(i < end && condition(i), false, static_cast<uint32_t>(i));
    }
  };
  pick(part, rows, 0, wanted, told, out);
}

}  // namespace casync::compll::cuda
