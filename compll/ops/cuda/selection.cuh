// SPDX-License-Identifier: Apache-2.0
//
// The largest elements of a whole vector. Three stages find the least key that is chosen, a digit each, by counting;
// a fourth one writes the places in order: a tile learns from those before it how many they have. All is exact.
#pragma once

#include "compll/ops/cuda/whole.cuh"

namespace casync::compll::cuda {

/// What `largest` goes by: 0 for what is not above zero.
COMPLL_BOTH uint32_t key_of(uint32_t x) { return x; }
COMPLL_BOTH uint32_t key_of(int32_t x) { return x > 0 ? static_cast<uint32_t>(x) : 0; }
COMPLL_BOTH uint32_t key_of(float x) { return key_of(static_cast<int32_t>(bits(x))); }

inline constexpr uint32_t kNoPlace = 0xffffffffu;
inline constexpr uint32_t kBins = 2048;

/// The state of a search: zero before it and cleared behind it.
struct Selection {
  uint32_t least;  ///< the digits that are known; at the end all keys above it are chosen,
  uint32_t equal;  ///< and so many that equal it: the first ones
  uint32_t is_done;
  uint32_t unused;
  uint32_t bins[kBins];
};

COMPLL_BOTH constexpr uint32_t digit_shift(uint32_t digit) { return digit == 0 ? 21 : digit == 1 ? 10 : 0; }
COMPLL_BOTH constexpr uint32_t digit_bins(uint32_t digit) { return digit == 2 ? 1024 : 2048; }

/// How often each value of a digit is there, of keys whose digits above it are those that are known.
template <uint32_t kDigit, class Key>
__device__ __forceinline__ void count_digit(const Part& part, uint64_t count, const Key& key, Selection* selection) {
  constexpr uint32_t kShift = digit_shift(kDigit), kThese = digit_bins(kDigit);
  uint32_t* const own = part.shared.words;
  const bool is_done = selection->is_done != 0;
  const uint32_t known = selection->least;
  for (uint32_t b = threadIdx.x; b < kThese; b += kThreads) own[b] = 0;
  __syncthreads();
  if (!is_done) {
    for_each(part, count, [&](uint64_t i) {
      const uint32_t each = key(i);
      bool counts = each != 0;
      if constexpr (kDigit != 0) counts = counts && (each ^ known) >> digit_shift(kDigit - 1) == 0;
      if (counts) atomicAdd(own + (each >> kShift) % kThese, 1u);
    });
  }
  __syncthreads();
  for (uint32_t b = threadIdx.x; b < kThese; b += kThreads) {
    if (own[b] != 0) atomicAdd(selection->bins + b, own[b]);
  }
  __syncthreads();
}

/// The sum of what threads 0 to this one bring.
__device__ __forceinline__ uint32_t sum_to_here(const Part& part, uint32_t own) {
  uint32_t* const sums = part.shared.sums;
  sums[threadIdx.x] = own;
  __syncthreads();
  for (uint32_t distance = 1; distance < kThreads; distance *= 2) {
    const uint32_t before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
    __syncthreads();
  }
  return sums[threadIdx.x];
}

/// The last tile: which value the digit of the key has that is the `wanted`-th from the top.
template <uint32_t kDigit>
__device__ __forceinline__ void choose_digit(const Part& part, Selection* selection, uint32_t wanted) {
  constexpr uint32_t kOwn = digit_bins(kDigit) / kThreads;
  const uint32_t left = kDigit == 0 ? wanted : selection->equal;
  const bool is_done = selection->is_done != 0;
  uint32_t* const top = selection->bins + digit_bins(kDigit) - 1 - threadIdx.x * kOwn;  // and downwards
  uint32_t own = 0, counts[kOwn];
  for (uint32_t b = 0; b < kOwn; ++b) {
    counts[b] = *static_cast<const volatile uint32_t*>(top - b);
    own += counts[b];
    *(top - b) = 0;
  }
  const uint32_t through = sum_to_here(part, own);
  const uint32_t all = part.shared.sums[kThreads - 1];
  __syncthreads();
  if (is_done) return;
  uint32_t above = through - own;
  if (above < left && left <= through) {
    uint32_t b = 0;
    for (; above + counts[b] < left; ++b) above += counts[b];
    const uint32_t bin = digit_bins(kDigit) - 1 - threadIdx.x * kOwn - b;
    selection->least |= bin << digit_shift(kDigit);
    selection->equal = left - above;
  }
  if (kDigit == 0 && threadIdx.x == 0 && (all < left || left == 0)) {
    selection->least = left == 0 ? 0xffffffffu : 0;  // all that are above zero, or none
    selection->equal = 0;
    selection->is_done = 1;
  }
}

/// What a tile tells those behind it: in the upper bits whether it is of this tile alone or of all up to it.
__device__ __forceinline__ uint64_t in_look_back(uint64_t flag, uint32_t above, uint32_t equal) {
  return flag << 62 | uint64_t{above} << 31 | equal;
}

/// How many are above and equal in the tiles before: of the latest ones by themselves, back to one that knows it of all.
/// One warp asks.
__device__ __forceinline__ uint64_t look_back(const uint64_t* told, uint32_t tile) {
  uint64_t above = 0, equal = 0;
  for (int32_t from = static_cast<int32_t>(tile) - 1; from >= 0; from -= static_cast<int32_t>(kLanes)) {
    const int32_t at = from - static_cast<int32_t>(threadIdx.x % kLanes);
    uint64_t word = uint64_t{2} << 62;  // before the first tile there is nothing
    do {
      if (at >= 0) word = load_slot(told + at);
    } while (!__all_sync(kWholeWarp, word >> 62 != 0));
    const uint32_t whole = __ballot_sync(kWholeWarp, word >> 62 == 2);
    const uint32_t first = whole == 0 ? kLanes : __ffs(static_cast<int32_t>(whole)) - 1;
    const bool counts = threadIdx.x % kLanes <= first;
    above += joined<JoinBySum>(counts ? word >> 31 & 0x7fffffffu : 0, kLanes);
    equal += joined<JoinBySum>(counts ? word & 0x7fffffffu : 0, kLanes);
    if (whole != 0) break;
  }
  return above << 32 | equal;
}

/// The places whose key is above `least`, and of those that equal it the first `equal`, at most `wanted`, in ascending
/// order; then kNoPlace. `told`: a word for each tile, zero before.
template <class Key>
__device__ __forceinline__ void pick(const Part& part, uint64_t count, const Key& key, uint32_t least_key, uint32_t equal,
                                     uint64_t wanted, uint64_t* told, uint32_t* out) {
  const uint64_t begin = part.begin(count), end = part.end(count);
  const uint32_t lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  uint64_t* const shared = part.shared.told;
  uint64_t own = 0;
  for_each(part, count, [&](uint64_t i) {
    const uint32_t each = key(i);
    own += each > least_key ? uint64_t{1} << 32 : each == least_key ? 1 : 0;
  });
  own = joined<JoinBySum>(own, kLanes);
  if (lane == 0) shared[warp] = own;
  __syncthreads();
  uint64_t all = 0;
  for (uint32_t w = 0; w < kWarps; ++w) all += shared[w];
  __syncthreads();
  if (warp == 0) {
    const uint32_t above = static_cast<uint32_t>(all >> 32), same = static_cast<uint32_t>(all);
    if (lane == 0) atomicMax(told + part.tile, in_look_back(part.tile == 0 ? 2 : 1, above, same));
    const uint64_t before = look_back(told, part.tile);
    if (lane == 0 && part.tile != 0) {
      atomicMax(told + part.tile, in_look_back(2, above + static_cast<uint32_t>(before >> 32),
                                               same + static_cast<uint32_t>(before)));
    }
    if (lane == 0) shared[kWarps] = before;
  }
  __syncthreads();
  uint64_t before = shared[kWarps];  // upper half: above; lower half: equal
  __syncthreads();
  for (uint64_t first = begin; first < end; first += kThreads) {
    const uint64_t i = first + threadIdx.x;
    const uint32_t each = i < end ? key(i) : 0;
    const bool is_above = i < end && each > least_key, is_equal = i < end && each == least_key;
    const uint32_t aboves = __ballot_sync(kWholeWarp, is_above), equals = __ballot_sync(kWholeWarp, is_equal);
    if (lane == 0) shared[warp] = uint64_t{static_cast<uint32_t>(__popc(aboves))} << 32 | static_cast<uint32_t>(__popc(equals));
    __syncthreads();
    uint64_t here = before;
    for (uint32_t w = 0; w < kWarps; ++w) {
      if (w < warp) here += shared[w];
      before += shared[w];
    }
    const uint32_t below = (1u << lane) - 1;
    const uint64_t equals_before = (here & 0xffffffffu) + static_cast<uint32_t>(__popc(equals & below));
    const uint64_t rank = (here >> 32) + static_cast<uint32_t>(__popc(aboves & below)) + least<uint64_t>(equals_before, equal);
    if ((is_above || (is_equal && equals_before < equal)) && rank < wanted) out[rank] = static_cast<uint32_t>(i);
    __syncthreads();
  }
  if (part.tile + 1 != part.segment.tile_count) return;
  const uint64_t chosen = (before >> 32) + least<uint64_t>(before & 0xffffffffu, equal);
  for (uint64_t i = chosen + threadIdx.x; i < wanted; i += kThreads) out[i] = kNoPlace;
}

}  // namespace casync::compll::cuda
