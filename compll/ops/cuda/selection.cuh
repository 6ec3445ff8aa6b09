// SPDX-License-Identifier: Apache-2.0
//
// The largest elements of a whole vector. One stage looks at all of them: it counts how many there are of each first
// digit of the key, and lists those that may be among the largest. As what has been counted grows, ever fewer may. Two
// stages find the other digits of the least key that is chosen, a fourth one writes the places in order: a tile learns
// from those before it how many they have. These only read the lists. All is exact.
#pragma once

#include "compll/ops/cuda/picking.cuh"

namespace casync::compll::cuda {

/// What `largest` goes by: 0 for what is not above zero.
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
  uint32_t unused[3];
  uint32_t bins[kBins];
};

/// Elements that may be chosen, of each batch in their order: the upper 24 bits of the key, then the place in the batch.
struct Candidates {
  uint32_t* entries;  ///< room for all elements: a batch's begin where it does
  uint32_t* lengths;  ///< of each batch
};
static_assert(kBatch == 256);

COMPLL_BOTH constexpr uint32_t digit_shift(uint32_t digit) { return digit == 0 ? 21 : digit == 1 ? 10 : 0; }
COMPLL_BOTH constexpr uint32_t digit_bins(uint32_t digit) { return digit == 2 ? 1024 : 2048; }

__device__ inline uint32_t load_others(const uint32_t* at) { return *static_cast<const volatile uint32_t*>(at); }

/// The block's own bins, in shared memory, are zero.
template <uint32_t kThese>
__device__ __forceinline__ void clear_bins(const Part& part) {
  auto* const own = reinterpret_cast<Quad<uint32_t>*>(part.shared.words);
#pragma unroll
  for (uint32_t b = threadIdx.x; b < kThese / 4; b += kThreads) own[b] = {};
  __syncthreads();
}
/// And are added to those of all tiles.
template <uint32_t kThese>
__device__ __forceinline__ void add_bins(const Part& part, Selection* selection) {
  const auto* const own = reinterpret_cast<const Quad<uint32_t>*>(part.shared.words);
#pragma unroll
  for (uint32_t b = threadIdx.x; b < kThese / 4; b += kThreads) {
    const Quad<uint32_t> some = own[b];
    if ((some[0] | some[1] | some[2] | some[3]) == 0) continue;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (some[k] != 0) atomicAdd(selection->bins + 4 * b + k, some[k]);
    }
  }
}

/// The sum of what threads 0 to this one bring, and of what all bring.
struct SumToHere {
  uint32_t through, all;
};
__device__ __forceinline__ SumToHere sum_to_here(const Part& part, uint32_t own) {
  const uint32_t lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  uint32_t through = own;
#pragma unroll
  for (uint32_t by = 1; by < kLanes; by *= 2) {
    const uint32_t before = __shfl_up_sync(kWholeWarp, through, by);
    if (lane >= by) through += before;
  }
  __syncthreads();
  if (lane == kLanes - 1) part.shared.sums[warp] = through;
  __syncthreads();
  uint32_t all = 0, before = 0;
#pragma unroll
  for (uint32_t w = 0; w < kWarps; ++w) {
    if (w < warp) before += part.shared.sums[w];
    all += part.shared.sums[w];
  }
  return {before + through, all};
}

/// Which value the digit of the key has that is the `wanted`-th from the top.
template <uint32_t kDigit>
__device__ __forceinline__ void choose_bin(const Part& part, uint32_t* bins, Selection* selection, uint32_t wanted) {
  constexpr uint32_t kOwn = digit_bins(kDigit) / kThreads;
  if (kDigit != 0 && selection->is_done != 0) return;
  const uint32_t left = kDigit == 0 ? wanted : selection->equal;
  const uint32_t highest = digit_bins(kDigit) - 1 - threadIdx.x * kOwn;  // and downwards
  uint32_t own = 0, counts[kOwn];
#pragma unroll
  for (uint32_t b = 0; b < kOwn; ++b) counts[b] = load_others(bins + highest - b);
#pragma unroll
  for (uint32_t b = 0; b < kOwn; ++b) {
    own += counts[b];
    bins[highest - b] = 0;
  }
  const SumToHere sums = sum_to_here(part, own);
  uint32_t above = sums.through - own;
  if (above < left && left <= sums.through) {
    uint32_t bin = highest;
    bool is_found = false;
#pragma unroll
    for (uint32_t b = 0; b < kOwn; ++b) {
      is_found = is_found || above + counts[b] >= left;
      if (!is_found) above += counts[b], --bin;
    }
    selection->least |= bin << digit_shift(kDigit);
    selection->equal = left - above;
  }
  if (kDigit == 0 && threadIdx.x == 0 && (sums.all < left || left == 0)) {
    selection->least = left == 0 ? 0xffffffffu : 0;  // all that are above zero, or none
    selection->equal = 0;
    selection->is_done = 1;
  }
}
/// Where there are other tiles the last one does it, else the only one has done it already.
template <uint32_t kDigit>
__device__ __forceinline__ void choose_digit(const Part& part, Selection* selection, uint32_t wanted) {
  if (!part.is_alone()) choose_bin<kDigit>(part, selection->bins, selection, wanted);
}
/// Behind a tile's elements.
template <uint32_t kDigit>
__device__ __forceinline__ void end_digit(const Part& part, Selection* selection, uint32_t wanted) {
  __syncthreads();
  if (!part.is_alone()) return add_bins<digit_bins(kDigit)>(part, selection);
  choose_bin<kDigit>(part, part.shared.words, selection, wanted);
  __syncthreads();
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

/// Where keys are not made of what has to be taken first.
struct NoInput {
  template <bool kIsWhole>
  __device__ void take(uint64_t, uint32_t) {}
  __device__ void hold(uint32_t) {}
  __device__ void end() const {}
};

/// The first stage. `input`: what is taken of a batch first, and then at hand for `key`.
template <class Key, class From>
__device__ __forceinline__ void list_largest(const Part& part, uint64_t count, const Key& key, uint32_t wanted,
                                             const Candidates& to, Selection* selection, From input) {
  // So many have been counted that others should know soon.
  constexpr uint32_t kMany = 192;
  uint32_t* const own = part.shared.words;
  const uint32_t lane = threadIdx.x % kLanes;
  clear_bins<kBins>(part);
  uint32_t floor = load_others(&selection->floor), counted = 0;
  for_batches(part, count, [&](uint64_t first, uint32_t size) {
    const uint32_t next_floor = load_others(&selection->floor), rest = size - least(size, lane);
    const uint64_t i = first + lane;
    uint32_t keys[kAhead];
    if (size == kBatch) {
      input.template take<true>(i, rest);
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        input.hold(k);
        keys[k] = key(i + k * kLanes);
      }
    } else {
      input.template take<false>(i, rest);
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        input.hold(k);
        keys[k] = k * kLanes < rest ? key(i + k * kLanes) : 0;
      }
    }
    const uint32_t lowest = max(floor << digit_shift(0), 1u);
    uint32_t* const entries = to.entries + first;
    uint32_t length = 0;
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) {
      const uint32_t listed = __ballot_sync(kWholeWarp, keys[k] >= lowest);
      if (keys[k] >= lowest) {
        const uint32_t before = length + static_cast<uint32_t>(__popc(listed & ((1u << lane) - 1)));
        entries[before] = (keys[k] & ~(kBatch - 1)) | (k * kLanes + lane);
        atomicAdd(own + (keys[k] >> digit_shift(0)), 1u);
      }
      length += static_cast<uint32_t>(__popc(listed));
    }
    if (lane == 0) to.lengths[first / kBatch] = length;
    floor = next_floor;
    counted += length;
    if (counted < kMany || part.is_alone()) return;
    counted = 0;
    add_bins_early(own, selection, wanted);
  });
  input.end();
  end_digit<0>(part, selection, wanted);
  if (threadIdx.x < kLanes && !part.is_alone()) note_bins(selection, wanted, 4);
}

/// What this warp's share of the tile's batches has listed, in its order: visit gets an entry, whether it is one, and
/// the first place of its batch, from all lanes together.
template <class Visit>
__device__ __forceinline__ void for_listed(const Part& part, uint64_t count, const Candidates& from,
                                           const Visit& visit) {
  constexpr uint32_t kTogether = 4;
  const uint32_t lane = threadIdx.x % kLanes;
  const uint32_t first = static_cast<uint32_t>((part.begin(count) + kBatch - 1) / kBatch);
  const uint32_t last = static_cast<uint32_t>((part.end(count) + kBatch - 1) / kBatch);
  const uint32_t each = (last - first + kWarps - 1) / kWarps;
  const uint32_t begin = least(first + threadIdx.x / kLanes * each, last), end = least(begin + each, last);
#pragma unroll 1
  for (uint32_t some = begin; some < end; some += kLanes) {
    const uint32_t lengths = some + lane < end ? from.lengths[some + lane] : 0;
    const uint32_t these = least(end - some, kLanes);
#pragma unroll 1
    for (uint32_t b = 0; b < these; b += kTogether) {
      uint32_t entries[kTogether], length[kTogether];
#pragma unroll
      for (uint32_t k = 0; k < kTogether; ++k) {
        length[k] = __shfl_sync(kWholeWarp, lengths, static_cast<int>(b + k));  // 0 behind the last one
        entries[k] = lane < length[k] ? from.entries[uint64_t{some + b + k} * kBatch + lane] : 0;
      }
#pragma unroll
      for (uint32_t k = 0; k < kTogether; ++k) {
        const uint64_t at = uint64_t{some + b + k} * kBatch;
        if (length[k] != 0) visit(entries[k], lane < length[k], at);
#pragma unroll 1
        for (uint32_t j = lane + kLanes; j - lane < length[k]; j += kLanes) {
          visit(j < length[k] ? from.entries[at + j] : 0, j < length[k], at);
        }
      }
    }
  }
}

/// How often each value of a later digit is there, of keys whose digits above it are those that are known.
template <uint32_t kDigit, class Key>
__device__ __forceinline__ void count_digit(const Part& part, uint64_t count, const Key& key, const Candidates& from,
                                            Selection* selection) {
  constexpr uint32_t kThese = digit_bins(kDigit), kKnown = digit_shift(kDigit - 1);
  uint32_t* const own = part.shared.words;
  clear_bins<kThese>(part);
  const uint32_t known = selection->least;
  if (selection->is_done != 0) return;
  for_listed(part, count, from, [&](uint32_t entry, bool is_there, uint64_t first) {
    if (!is_there || (entry ^ known) >> kKnown != 0) return;
    const uint32_t digits = kDigit == 1 ? entry : key(first + entry % kBatch);  // an entry has the first two
    atomicAdd(own + (digits >> digit_shift(kDigit)) % kThese, 1u);
  });
  end_digit<kDigit>(part, selection, 0);
}

/// The places of the largest.
template <class Key>
__device__ __forceinline__ void pick_largest(const Part& part, uint64_t count, const Key& key, const Candidates& from,
                                             const Selection* selection, uint64_t wanted, uint64_t* told, uint32_t* out) {
  const uint32_t least_key = selection->least, least_entry = least_key / kBatch;
  const auto rows = [&](const auto& visit) {
    for_listed(part, count, from, [&](uint32_t entry, bool is_there, uint64_t first) {
      const uint32_t place = static_cast<uint32_t>(first) + entry % kBatch;
      bool is_above = is_there && entry / kBatch > least_entry, is_equal = false;
      if (is_there && entry / kBatch == least_entry) {
        const uint32_t each = key(place);
        is_above = each > least_key;
        is_equal = each == least_key;
      }
      visit(is_above, is_equal, place);
    });
  };
  pick(part, rows, selection->equal, wanted, told, out);
}

}  // namespace casync::compll::cuda
