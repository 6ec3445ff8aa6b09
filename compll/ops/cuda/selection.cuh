// SPDX-License-Identifier: Apache-2.0
//
// The largest elements of a whole vector. One stage looks at all of them: it counts the keys by their first digit, and
// lists those that may be among the largest, with their keys. As the counts grow, ever fewer may. Two stages find the
// other digits of the least key that is chosen, and with the last one the number of chosen ones in each tile; a fourth
// one writes the places in order. These only read the lists. All is exact.
#pragma once

#include "compll/ops/cuda/block_sums.cuh"
#include "compll/ops/cuda/candidates.cuh"

namespace casync::compll::cuda {

/// Finds the digit of the `wanted`-th largest key. Other tiles have counted in `bins`; as this tile is the last one
/// (Part::is_last), plain loads see their counts, too.
template <uint32_t kDigit>
__device__ __forceinline__ void choose_bin(const Part& part, uint32_t* bins, Selection* selection, uint32_t wanted) {
  constexpr uint32_t kOwn = digit_bins(kDigit) / kThreads;
  if (kDigit != 0 && selection->is_done != 0) return;
  const uint32_t left = kDigit == 0 ? wanted : selection->equal;
  constexpr uint32_t kQuads = kOwn / 4;
  const uint32_t first = digit_bins(kDigit) - (threadIdx.x + 1) * kOwn;  // the first thread has the highest ones
  auto* const quads = reinterpret_cast<Quad<uint32_t>*>(bins + first);
  uint32_t own = 0, counts[kQuads];
#pragma unroll
  for (uint32_t q = 0; q < kQuads; ++q) {
    const Quad<uint32_t> some = quads[q];
    own += counts[q] = some[0] + some[1] + some[2] + some[3];
  }
  const SumBefore<uint32_t> sums = sum_before(part.shared.told, own);
  uint32_t above = sums.before;
  if (above < left && left <= above + own) {
    uint32_t q = kQuads - 1, k = 3;  // the quad, then the bin in it
#pragma unroll
    for (uint32_t each = kQuads - 1; each > 0; --each) {
      if (q == each && above + counts[each] < left) above += counts[each], --q;
    }
    const Quad<uint32_t> some = quads[q];
#pragma unroll
    for (uint32_t each = 3; each > 0; --each) {
      if (k == each && above + some[each] < left) above += some[each], --k;
    }
    selection->least |= (first + 4 * q + k) << digit_shift(kDigit);
    selection->equal = left - above;
  }
#pragma unroll
  for (uint32_t q = 0; q < kQuads; ++q) quads[q] = {};
  if (kDigit == 0 && threadIdx.x == 0 && (sums.all < left || left == 0)) {
    selection->least = left == 0 ? 0xffffffffu : 0;  // all that are above zero, or none
    selection->equal = 0;
    selection->is_done = 1;
  }
}
/// Called in the last tile, which knows the last digit: stores the counts above and equal up to each tile, unless there
/// are too many ties, or one of too many elements; then tiles tell each other.
__device__ __forceinline__ void tell_tiles(const Part& part, const Search& search) {
  const Selection* const selection = search.selection;
  const Candidates& to = search.found;
  __syncthreads();
  const uint32_t ties = load_others(&selection->ties), digit = load_others(&selection->least) % digit_bins(2);
  if (ties > kMostTies) return;
#pragma unroll 4
  for (uint32_t t = threadIdx.x; t < ties; t += kThreads) {
    const uint64_t tie = load_slot(to.ties + t);
    const uint32_t value = static_cast<uint32_t>(tie) / kNoTies, times = static_cast<uint32_t>(tie) % kNoTies;
    if (value < digit) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(to.told + (tie >> 32)),
              value == digit ? times : static_cast<unsigned long long>(times) << 31);
  }
  __syncthreads();
  const uint32_t each = (part.segment.tile_count + kThreads - 1) / kThreads;
  const uint32_t begin = least(threadIdx.x * each, part.segment.tile_count);
  const uint32_t end = least(begin + each, part.segment.tile_count);
  uint64_t own = 0;
#pragma unroll 4
  for (uint32_t tile = begin; tile < end; ++tile) own += load_slot(to.told + tile);
  uint64_t through = in_look_back(2, 0, 0) + sum_before(part.shared.told, own).before;
  uint64_t next = begin < end ? load_slot(to.told + begin) : 0;
#pragma unroll 1
  for (uint32_t tile = begin; tile < end; ++tile) {
    through += next;
    if (tile + 1 < end) next = load_slot(to.told + tile + 1);
    to.told[tile] = through;
  }
}

/// Chooses a digit; called in the last tile.
template <uint32_t kDigit>
__device__ __forceinline__ void choose_digit(const Part& part, const Search& search, uint32_t wanted) {
  choose_bin<kDigit>(part, search.selection->bins, search.selection, wanted);
  if (kDigit == 2 && search.found.told != nullptr && !part.is_alone()) tell_tiles(part, search);
}
/// Ends a digit, after a tile's elements.
template <uint32_t kDigit>
__device__ __forceinline__ void end_digit(const Part& part, const Search& search) {
  Selection* const selection = search.selection;
  const Candidates& to = search.found;
  __syncthreads();
  add_bins<digit_bins(kDigit)>(part, selection, [&](uint32_t value, uint32_t times) {
    if (kDigit != 2 || to.told == nullptr || part.is_alone()) return;
    if (times >= kNoTies) {
      atomicAdd(&selection->ties, kMostTies + 1);
      return;
    }
    const uint32_t at = atomicAdd(&selection->ties, 1u);
    if (at < kMostTies) to.ties[at] = uint64_t{part.tile} << 32 | value * kNoTies | times;
  });
  __syncthreads();  // shared memory has another use from here on
}

/// The first stage. `input`: takes the elements of a batch first, and then holds each for `key`, which is called once
/// for each element.
template <class Key, class From>
__device__ __forceinline__ void list_largest(const Part& part, uint64_t count, const Key& key, uint32_t wanted,
                                             const Search& search, From input) {
  Selection* const selection = search.selection;
  // Elements after which the counts are worth telling to others.
  constexpr uint32_t kMany = 192;
  uint32_t* const own = part.shared.words;
  const uint32_t lane = threadIdx.x % kLanes;
  clear_bins<kBins>(part);
  uint32_t floor = load_others(&selection->floor), noted = 0, length = 0;
  const Batches batches(part, count);
  const Listed listed(part, batches, search.found);
#pragma unroll 1
  for (uint32_t batch = batches.begin; batch < batches.end; ++batch) {
    const uint64_t first = uint64_t{batch} * kBatch;
    const uint32_t next_floor = load_others(&selection->floor);
    const uint32_t size = static_cast<uint32_t>(least<uint64_t>(kBatch, count - first)), rest = size - least(size, lane);
    const uint64_t i = first + lane;
    uint32_t keys[kAhead];
    if (size == kBatch && input.take(i)) {
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        input.hold(k);
        keys[k] = key(i + k * kLanes);
      }
    } else {
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) keys[k] = 0;
#pragma unroll 1
      for (uint32_t row = 0; row * kLanes < rest; ++row) {
        input.take_row(i + row * kLanes);
        const uint32_t each = key(i + row * kLanes);
#pragma unroll
        for (uint32_t k = 0; k < kAhead; ++k) keys[k] = k == row ? each : keys[k];
      }
    }
    const uint32_t lowest = max(floor << digit_shift(0), 1u);
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) {
      const uint32_t all = __ballot_sync(kWholeWarp, keys[k] >= lowest);
      if (keys[k] >= lowest) {
        const uint32_t at = length + static_cast<uint32_t>(__popc(all & ((1u << lane) - 1)));
        listed.entries[at] = candidate(keys[k], i + k * kLanes);
        atomicAdd(own + (keys[k] >> digit_shift(0)), 1u);
      }
      length += static_cast<uint32_t>(__popc(all));
    }
    floor = next_floor;
    if (length < noted + kMany || part.is_alone()) continue;
    noted = length;
    add_bins_early(own, selection, wanted);
  }
  if (lane == 0) *listed.length = length;
  input.end();
  end_digit<0>(part, search);
}

/// Counts the values of a later digit in keys whose digits above it are the known ones. With the last digit, each tile
/// also tells how many keys it has above these.
template <uint32_t kDigit>
__device__ __forceinline__ void count_digit(const Part& part, uint64_t count, const Search& search) {
  Selection* const selection = search.selection;
  const Candidates& from = search.found;
  constexpr uint32_t kThese = digit_bins(kDigit), kKnown = digit_shift(kDigit - 1);
  uint32_t* const own = part.shared.words;
  const uint32_t known = selection->least >> kKnown;
  const bool tells = kDigit == 2 && from.told != nullptr && !part.is_alone();
  if (selection->is_done != 0 && !tells) return;
  clear_bins<kThese>(part);
  uint32_t above = 0;
  for_listed(part, count, from, [&](uint64_t entry) {
    const uint32_t key = key_in(entry);
    if (key >> kKnown > known) ++above;
    if (entry != 0 && key >> kKnown == known) atomicAdd(own + (key >> digit_shift(kDigit)) % kThese, 1u);
  });
  if (tells) {
    above = sum_of_warp(above);
    if (threadIdx.x % kLanes == 0) part.shared.sums[threadIdx.x / kLanes] = above;
  }
  end_digit<kDigit>(part, search);
  if (tells && threadIdx.x == 0) {
    above = 0;
#pragma unroll
    for (uint32_t w = 0; w < kWarps; ++w) above += part.shared.sums[w];
    from.told[part.tile] = uint64_t{above} << 31;
  }
}

/// Returns the least key that is chosen, as an element, once the last digit is known. 0 if fewer are above zero than
/// are wanted, or none is wanted.
template <class T>
__device__ __forceinline__ T kth_largest(const Search& search) {
  return same_bits<T>(search.selection->is_done != 0 ? 0 : search.selection->least);
}

/// Stores the places of the largest.
__device__ __forceinline__ void pick_largest(const Part& part, uint64_t count, const Search& search, uint64_t wanted) {
  const auto& [selection, from, out] = search;
  const uint32_t least_key = selection->least;
  const auto rows = [&](const auto& visit) {
    for_listed(part, count, from, [&](uint64_t entry) {
      const uint32_t key = key_in(entry);
      visit(key > least_key, entry != 0 && key == least_key, place_in(entry));
    });
  };
  pick(part, rows, selection->equal, wanted, from.told, out);
}

}  // namespace casync::compll::cuda
