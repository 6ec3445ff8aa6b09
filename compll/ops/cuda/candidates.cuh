// SPDX-License-Identifier: Apache-2.0
//
// What may be among the largest elements of a whole vector: lists of it, and what is counted of its keys.
#pragma once

#include "compll/ops/cuda/picking.cuh"

namespace casync::compll::cuda {

/// What `largest` and `kth_largest` go by: 0 for what is not above zero.
COMPLL_BOTH uint32_t key_of(uint32_t x) { return x; }
COMPLL_BOTH uint32_t key_of(int32_t x) { return x > 0 ? static_cast<uint32_t>(x) : 0; }
COMPLL_BOTH uint32_t key_of(float x) { return key_of(static_cast<int32_t>(bits(x))); }

inline constexpr uint32_t kBins = 2048;

/// The state of a search: zero before it and cleared behind it.
struct Selection {
  uint32_t least;  ///< the digits that are known; at the end all keys above it are chosen,
  uint32_t equal;  ///< and so many that equal it: the first ones
  uint32_t is_done;
  uint32_t floor;  ///< what has a first digit below it is not chosen
  uint32_t noted;  ///< how often bins have been added to
  uint32_t ties;   ///< how many have been told
  uint32_t unused[2];
  uint32_t bins[kBins];
};

/// A warp lists the candidates of so many elements one behind the other.
inline constexpr uint32_t kChunk = 8 * kBatch;
/// A tile has fewer elements.
inline constexpr uint32_t kNoTies = 1u << 21;
/// So many values of the last digit, of all tiles, their last one can go through.
inline constexpr uint32_t kMostTies = 4096;

/// Elements that may be chosen, of each chunk in their order: the upper bits of the key, which are its first two digits,
/// then the place in the chunk.
struct Candidates {
  uint32_t* entries;  ///< room for all elements: a chunk's begin where it does
  uint32_t* lengths;  ///< of each chunk: at the number of its first batch
  uint64_t* told;     ///< a word for each tile: see pick; null: nobody asks for places
  uint64_t* ties;     ///< tiles' values of the last digit, and how many of each
};

COMPLL_BOTH constexpr uint32_t digit_shift(uint32_t digit) { return digit == 0 ? 21 : digit == 1 ? 11 : 0; }
COMPLL_BOTH constexpr uint32_t digit_bins(uint32_t digit) { return digit == 1 ? 1024 : 2048; }
static_assert(kChunk == 1u << digit_shift(1));

__device__ inline uint32_t load_others(const uint32_t* at) { return *static_cast<const volatile uint32_t*>(at); }

/// The block's own bins, in shared memory, are zero.
template <uint32_t kThese>
__device__ __forceinline__ void clear_bins(const Part& part) {
  auto* const own = reinterpret_cast<Quad<uint32_t>*>(part.shared.words);
#pragma unroll
  for (uint32_t b = threadIdx.x; b < kThese / 4; b += kThreads) own[b] = {};
  __syncthreads();
}
/// And are added to those of all tiles; those that have any are given to `note`, too.
template <uint32_t kThese, class Note>
__device__ __forceinline__ void add_bins(const Part& part, Selection* selection, const Note& note) {
  const auto* const own = reinterpret_cast<const Quad<uint32_t>*>(part.shared.words);
#pragma unroll
  for (uint32_t b = threadIdx.x; b < kThese / 4; b += kThreads) {
    const Quad<uint32_t> some = own[b];
    if ((some[0] | some[1] | some[2] | some[3]) == 0) continue;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (some[k] == 0) continue;
      atomicAdd(selection->bins + 4 * b + k, some[k]);
      note(4 * b + k, some[k]);
    }
  }
}

/// By one warp: the digit of the `wanted`-th of those that have been counted, from the top, is not above that of all.
__device__ inline void raise_floor(Selection* selection, uint32_t wanted) {
  const uint32_t lane = threadIdx.x % kLanes;
  uint32_t above = 0;
#pragma unroll 1
  for (uint32_t top = kBins; top != 0; top -= kBatch) {
    uint32_t counts[kAhead];
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) counts[k] = load_others(selection->bins + top - (k + 1) * kLanes + lane);
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) {
      const uint32_t sum = __reduce_add_sync(kWholeWarp, counts[k]);
      if (above + sum < wanted) {
        above += sum;
        continue;
      }
      uint32_t from_here = counts[k];  // and above, in this row
#pragma unroll
      for (uint32_t by = 1; by < kLanes; by *= 2) {
        const uint32_t others = __shfl_down_sync(kWholeWarp, from_here, by);
        if (lane + by < kLanes) from_here += others;
      }
      const uint32_t reached = __ballot_sync(kWholeWarp, above + from_here >= wanted);
      const uint32_t floor = top - (k + 1) * kLanes + static_cast<uint32_t>(__popc(reached)) - 1;
      if (lane == 0) atomicMax(&selection->floor, floor);
      return;
    }
  }
}
/// By one warp: bins have been added to. Now and then it looks what that says.
__device__ __forceinline__ void note_bins(Selection* selection, uint32_t wanted, uint32_t times) {
  constexpr uint32_t kNow = 64;
  uint32_t before = 0;
  if (threadIdx.x % kLanes == 0) before = atomicAdd(&selection->noted, times);
  before = __shfl_sync(kWholeWarp, before, 0);
  if (before / kNow != (before + times) / kNow) raise_floor(selection, wanted);
}
/// By one warp, while others go on counting: what the block has counted so far is added to the bins of all.
__device__ inline void add_bins_early(uint32_t* own, Selection* selection, uint32_t wanted) {
#pragma unroll 4
  for (uint32_t b = threadIdx.x % kLanes; b < kBins; b += kLanes) {
    if (load_others(own + b) == 0) continue;
    const uint32_t some = atomicExch(own + b, 0u);
    if (some != 0) atomicAdd(selection->bins + b, some);
  }
  note_bins(selection, wanted, 1);
}

/// The batches of a tile that are this warp's, one behind the other.
struct Batches {
  uint32_t begin, end;
  __device__ __forceinline__ Batches(const Part& part, uint64_t count) {
    const uint32_t first = static_cast<uint32_t>((part.begin(count) + kBatch - 1) / kBatch);
    const uint32_t last = static_cast<uint32_t>((part.end(count) + kBatch - 1) / kBatch);
    const uint32_t each = (last - first + kWarps - 1) / kWarps;
    begin = least(first + threadIdx.x / kLanes * each, last);
    end = least(begin + each, last);
  }
};

/// Where keys are not made of what has to be taken first.
struct NoInput {
  template <bool kIsWhole>
  __device__ void take(uint64_t, uint32_t) {}
  __device__ void hold(uint32_t) {}
  __device__ void end() const {}
};

/// What this warp's share of the tile has listed, in its order: visit gets an entry, whether it is one, and the first
/// place of its chunk, from all lanes together. Eight rows are loaded before any is visited, the first two of each of
/// four chunks, or those of one that has more. The loop over them stays one: what a visit does is long.
template <class Visit>
__device__ __forceinline__ void for_listed(const Part& part, uint64_t count, const Candidates& from,
                                           const Visit& visit) {
  constexpr uint32_t kOfEach = 2, kEach = kChunk / kBatch;
  const uint32_t lane = threadIdx.x % kLanes;
  const Batches batches(part, count);
#pragma unroll 1
  for (uint32_t some = batches.begin; some < batches.end; some += kEach * kLanes) {
    const uint32_t lengths = some + kEach * lane < batches.end ? from.lengths[some + kEach * lane] : 0;
    const uint32_t these = least((batches.end - some + kEach - 1) / kEach, kLanes);
    const auto length_of = [&](uint32_t chunk) {
      return chunk < these ? __shfl_sync(kWholeWarp, lengths, static_cast<int>(chunk)) : 0;
    };
    uint32_t chunk = 0, row = 0;  // up to here all has been visited
#pragma unroll 1
    while (chunk < these) {
      const uint32_t length = length_of(chunk);
      const bool is_long = length > kOfEach * kLanes;
      const auto chunk_of = [&](uint32_t r) { return is_long ? chunk : chunk + r / kOfEach; };
      const auto row_of = [&](uint32_t r) { return is_long ? row + r : r % kOfEach; };
      const auto first_of = [&](uint32_t r) { return uint64_t{some + chunk_of(r) * kEach} * kBatch; };
      uint32_t entries[kAhead];
#pragma unroll
      for (uint32_t r = 0; r < kAhead; ++r) {
        const uint32_t own = row_of(r) * kLanes + lane;
        entries[r] = own < length_of(chunk_of(r)) ? from.entries[first_of(r) + own] : 0;
      }
      uint32_t r = 0;
#pragma unroll 1
      for (; r < kAhead; ++r) {
        const uint32_t size = length_of(chunk_of(r)), begin = row_of(r) * kLanes;
        if (!is_long && size > kOfEach * kLanes) break;
        if (begin < size) visit(one_of(entries, r), begin + lane < size, first_of(r));
      }
      row = is_long && (row + kAhead) * kLanes < length ? row + kAhead : 0;
      if (row == 0) chunk += is_long ? 1 : r / kOfEach;
    }
  }
}

}  // namespace casync::compll::cuda
