// SPDX-License-Identifier: Apache-2.0
//
// Candidates for the largest elements of a whole vector: lists of them, and counts of their keys.
#pragma once

#include "compll/ops/cuda/picking.cuh"

namespace casync::compll::cuda {

/// The key that `largest` and `kth_largest` compare: 0 if the element is not above zero.
COMPLL_BOTH uint32_t key_of(uint32_t x) { return x; }
COMPLL_BOTH uint32_t key_of(int32_t x) { return x > 0 ? static_cast<uint32_t>(x) : 0; }
COMPLL_BOTH uint32_t key_of(float x) { return key_of(static_cast<int32_t>(bits(x))); }

inline constexpr uint32_t kBins = 2048;

/// The state of a search: zero when the search starts, and cleared after it.
struct Selection {
  uint32_t least;  ///< the digits that are known; at the end all keys above it are chosen,
  uint32_t equal;  ///< and so many that equal it: the first ones
  uint32_t is_done;
  uint32_t floor;  ///< an element whose first digit is below it is not chosen
  uint32_t noted;  ///< the number of times that bins have been added to
  uint32_t ties;   ///< the number of ties that have been told; above kMostTies if some could not be
  uint32_t unused[2];
  uint32_t bins[kBins];
};

/// The count of a tie is below it, as a word of a tie has 21 bits for that. A tile of large blocks may have more.
inline constexpr uint32_t kNoTies = 1u << 21;
/// The most values of the last digit, of all tiles, that their last tile can go through.
inline constexpr uint32_t kMostTies = 4096;

/// An element that may be chosen: its key above its place. There is none at a zero.
COMPLL_BOTH uint64_t candidate(uint32_t key, uint64_t place) { return uint64_t{key} << 32 | place; }
COMPLL_BOTH uint32_t key_in(uint64_t candidate) { return static_cast<uint32_t>(candidate >> 32); }
COMPLL_BOTH uint32_t place_in(uint64_t candidate) { return static_cast<uint32_t>(candidate); }

/// The candidates of each warp's share of a tile, in their order.
struct Candidates {
  uint64_t* entries;  ///< room for all elements: a share's entries begin at its first element
  uint32_t* lengths;  ///< one for each warp
  uint64_t* told;     ///< a word for each tile: see pick; null: the caller wants no places
  uint64_t* ties;     ///< tiles' values of the last digit, and the count of each
};

/// A search for the largest: its state, and the elements that it looks at.
struct Search {
  Selection* selection;
  Candidates found;
  uint32_t* places;  ///< the places of the largest; null: the caller wants none
};

COMPLL_BOTH constexpr uint32_t digit_shift(uint32_t digit) { return digit == 0 ? 21 : digit == 1 ? 11 : 0; }
COMPLL_BOTH constexpr uint32_t digit_bins(uint32_t digit) { return digit == 1 ? 1024 : 2048; }

__device__ inline uint32_t load_others(const uint32_t* at) { return *static_cast<const volatile uint32_t*>(at); }

/// Sets the block's own bins, in shared memory, to zero.
template <uint32_t kThese>
__device__ __forceinline__ void clear_bins(const Part& part) {
  auto* const own = reinterpret_cast<Quad<uint32_t>*>(part.shared.words);
#pragma unroll
  for (uint32_t b = threadIdx.x; b < kThese / 4; b += kThreads) own[b] = {};
  __syncthreads();
}
/// Adds them to the bins of all tiles, and gives those that are not zero to `note`, too. Most are zero.
template <uint32_t kThese, class Note>
__device__ __forceinline__ void add_bins(const Part& part, Selection* selection, const Note& note) {
  const auto* const own = reinterpret_cast<const Quad<uint32_t>*>(part.shared.words);
#pragma unroll 1
  for (uint32_t b = threadIdx.x; b < kThese / 4; b += kThreads) {
    const Quad<uint32_t> some = own[b];
    if ((some[0] | some[1] | some[2] | some[3]) == 0) continue;
#pragma unroll 1
    for (uint32_t bin = 4 * b; bin < 4 * b + 4; ++bin) {
      const uint32_t times = part.shared.words[bin];
      if (times == 0) continue;
      atomicAdd(selection->bins + bin, times);
      note(bin, times);
    }
  }
}

/// Called by one warp: raises the floor to the digit of the `wanted`-th largest key counted so far, if that is higher.
__device__ inline void raise_floor(Selection* selection, uint32_t wanted) {
  const uint32_t lane = threadIdx.x % kLanes;
  uint32_t above = 0;
#pragma unroll 1
  for (uint32_t top = kBins; top != 0; top -= kBatch) {
    uint32_t counts[kAhead];
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) counts[k] = load_others(selection->bins + top - (k + 1) * kLanes + lane);
#pragma unroll 1
    for (uint32_t k = 0; k < kAhead; ++k) {
      uint32_t from_here = one_of(counts, k);  // and, soon, the sum of this bin and those above in the row
      const uint32_t sum = sum_of_warp(from_here);
      if (above + sum < wanted) {
        above += sum;
        continue;
      }
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
/// Called by one warp while others go on counting: adds the counts of the block to the bins of all. Now and then it
/// raises the floor by them.
__device__ inline void add_bins_early(uint32_t* own, Selection* selection, uint32_t wanted) {
#pragma unroll 4
  for (uint32_t b = threadIdx.x % kLanes; b < kBins; b += kLanes) {
    if (load_others(own + b) == 0) continue;
    const uint32_t some = atomicExch(own + b, 0u);
    if (some != 0) atomicAdd(selection->bins + b, some);
  }
  constexpr uint32_t kNow = 64;
  uint32_t before = 0;
  if (threadIdx.x % kLanes == 0) before = atomicAdd(&selection->noted, 1u);
  if (__shfl_sync(kWholeWarp, before, 0) % kNow == kNow - 1) raise_floor(selection, wanted);
}

/// The batches of a tile that are this warp's, one after the other.
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

/// Stands for an input where keys are not made of elements that have to be taken first.
struct NoInput {
  __device__ bool take(uint64_t) { return true; }
  __device__ void hold(uint32_t) {}
  __device__ void take_row(uint64_t) {}
  __device__ void end() const {}
};

/// This warp's list of the tile: the first entry, and the number of entries.
struct Listed {
  uint64_t* entries;
  uint32_t* length;
  __device__ __forceinline__ Listed(const Part& part, const Batches& batches, const Candidates& of)
      : entries(of.entries + uint64_t{batches.begin} * kBatch),
        length(of.lengths + part.tile * kWarps + threadIdx.x / kLanes) {}
};

/// Visits the list of this warp's share of the tile in its order: visit gets an entry, or 0, from all lanes together.
/// The loop over rows is not unrolled: a visit is long.
template <class Visit>
__device__ __forceinline__ void for_listed(const Part& part, uint64_t count, const Candidates& from,
                                           const Visit& visit) {
  const uint32_t lane = threadIdx.x % kLanes;
  const Listed listed(part, Batches(part, count), from);
  const uint32_t length = *listed.length;
#pragma unroll 1
  for (uint32_t first = 0; first < length; first += kBatch) {
    uint64_t entries[kAhead];
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) {
      const uint32_t own = first + k * kLanes + lane;
      entries[k] = own < length ? listed.entries[own] : 0;
    }
#pragma unroll 1
    for (uint32_t k = 0; k < kAhead && first + k * kLanes < length; ++k) visit(one_of(entries, k));
  }
}

}  // namespace casync::compll::cuda
