// SPDX-License-Identifier: Apache-2.0
//
// The part that all generated kernels share. Compile them with -fmad=false: nothing in a codec is contracted, or its
// bytes would not be those of the CPU.
//
// A warp takes a unit at a time: a block, or the blocks of 128 elements. It loads a unit once, into shared memory that
// is its own, adds the residual there, and works on it in loops that the program's reductions divide; small units are
// loaded a stretch of 512 elements at a time. Four warps work on a tile; a launch has the tiles of many segments. The
// last tile of a segment to be done writes the segment's own entries, so no launch waits for another one, and no host
// waits for a launch.
//
// Almost all tiles are whole: for them the same text is compiled without checks of ends and alignment. Sums are made
// without checks for NaN after each addition: if the result is one, they are computed again, exactly.
#pragma once

#include "compll/ops/cuda/work.cuh"

namespace casync::compll::cuda {

inline constexpr uint64_t kHeaderBytes = 16, kSectionAlignment = 16;

// Divides by shifting: a GPU has no division of 64 bits.
COMPLL_BOTH uint64_t entries_of_blocks(uint64_t n, uint32_t log2_block) {
  return n == 0 ? 0 : ((n - 1) >> log2_block) + 1;
}
COMPLL_BOTH uint64_t end_of_section(uint64_t begin, uint64_t entries, uint32_t entry_bits) {
  return begin + bytes_of_section(entries, entry_bits);
}
COMPLL_BOTH uint64_t section_behind(uint64_t end) {
  return (end + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}
COMPLL_BOTH void clear_gap(unsigned char* payload, uint64_t begin, uint64_t end) {
#pragma unroll 1
  for (uint64_t b = begin; b < end; ++b) payload[b] = 0;
}

/// Writes the header of docs/payloads.md.
__device__ inline void write_header(uint32_t codec, uint32_t version, const Settings& settings, uint64_t n, bool finite,
                                    unsigned char* payload, bool sends_blocks = true) {
  const uint32_t log2_block = sends_blocks ? settings.log2_block : 0;
  store_word(payload, 0x4c43u | version << 16 | codec << 24);
  store_word(payload + 4, (finite ? 0u : 1u) | log2_block << 8 | settings.program << 16);
  store_word(payload + 8, n);
}

/// Loads a word of the workspace that other threads have written in this launch.
__device__ inline uint64_t load_slot(const uint64_t* slot) { return *static_cast<const volatile uint64_t*>(slot); }
COMPLL_BOTH uint64_t in_slot(double x) { return same_bits<uint64_t>(x); }
COMPLL_BOTH uint64_t in_slot(float x) { return bits(x); }
COMPLL_BOTH uint64_t in_slot(int32_t x) { return static_cast<uint32_t>(x); }
COMPLL_BOTH uint64_t in_slot(uint32_t x) { return x; }
template <class T>
COMPLL_BOTH T out_of_slot(uint64_t slot) {
  if constexpr (sizeof(T) == 8) {
    return same_bits<T>(slot);
  } else {
    return same_bits<T>(static_cast<uint32_t>(slot));
  }
}

/// Writes four neighbours of a section; all threads of a warp come here together.
template <uint32_t kBits>
__device__ __forceinline__ void store_quad(const Quad<uint32_t>& codes, unsigned char* section, uint64_t i,
                                           uint32_t rest) {
  const Packed all = packed<kBits>(codes, rest);
  if constexpr (kBits % 2 == 0) {
    if (rest != 0) store_even<kBits>(all, section, i, rest);
  } else {
    const uint32_t next = __shfl_down_sync(kWholeWarp, static_cast<uint32_t>(all.low) & 15u, 1);
    if (rest != 0) store_odd<kBits>(all, next, section, i, rest);
  }
}

__device__ inline unsigned char* shared_memory() {
  extern __shared__ Quad<float> shared_quads[];
  return reinterpret_cast<unsigned char*>(shared_quads);
}

/// The segment that a tile belongs to: the last one whose first tile is not after it. Each lane of the warp looks at
/// one: a batch of hundreds takes two looks, one after the other.
__device__ inline const Segment& segment_of_tile(const Launch& launch, uint32_t tile) {
  uint32_t first = 0, count = launch.segment_count;  // it is among these
#pragma unroll 1
  while (count > 1) {
    const uint32_t step = (count + kLanes - 1) / kLanes, own = threadIdx.x % kLanes * step;
    const bool begins = own < count && launch.segments[first + own].first_tile <= tile;
    const uint32_t reached = static_cast<uint32_t>(__popc(__ballot_sync(kWholeWarp, begins)) - 1) * step;
    first += reached;
    count = least(step, count - reached);
  }
  return launch.segments[first];
}

/// Returns the work of this warp on the tile of this block of threads.
template <bool kIsWhole, class Codec>
__device__ __forceinline__ Work<kIsWhole, Codec::kStates> work_of_tile(const Launch& launch, const Segment& segment,
                                                                       uint32_t unit) {
  const uint64_t first = uint64_t{blockIdx.x - segment.first_tile} * tile_of(unit);
  const uint32_t warp = threadIdx.x / kLanes;
  const uint64_t slots = static_cast<uint64_t>(&segment - launch.segments) * Codec::kSlots;
  return {launch,
          segment,
          first + warp * stretch_of(unit),
          least(first + tile_of(unit), segment.n),
          unit,
          reinterpret_cast<float*>(shared_memory()) + warp * kept_of(unit),
          launch.workspace + slots,
          segment.residual_out,
          threadIdx.x % kLanes,
          Codec::kOverflow};
}

template <uint32_t kStates>
__device__ bool are_states_aligned(const Segment& segment) {
  if (kStates == 0) return true;
  const bool begin = is_aligned(segment.states_in) && is_aligned(segment.states_out);
  return begin && (kStates == 1 || segment.state_stride % 4 == 0);
}

/// Does the work on this tile; if the tile is whole, in the code for whole ones.
template <class Codec, class Source, class Do>
__device__ __forceinline__ void for_tile(const Launch& launch, const Do& work) {
  const Segment& segment = segment_of_tile(launch, blockIdx.x);
  const uint32_t unit = unit_of(Codec::kHasBlocks, Codec::kOrdered, launch.codec.block);
  const Source source(launch, segment);
  const uint64_t begin = uint64_t{blockIdx.x - segment.first_tile} * tile_of(unit), end = begin + tile_of(unit);
  source.ask_for(begin, least(end, segment.n) - begin);
  if (unit >= kRow && unit <= kPiece && end <= segment.n && source.is_aligned() && is_aligned(segment.residual_in) &&
      is_aligned(segment.residual_out) && are_states_aligned<Codec::kStates>(segment)) {
    work(work_of_tile<true, Codec>(launch, segment, unit), source);
  } else {
    work(work_of_tile<false, Codec>(launch, segment, unit), source);
  }
}

/// Called after a tile: the last one of its segment writes the header, the zeros between sections and the tensor's
/// entries, and leaves the workspace as it was found. The first slot counts tiles, and above them warps that have met
/// NaN or infinity: as one word it needs no fence, which would wait for all earlier stores.
template <class Codec, class Work>
__device__ __forceinline__ void finish_tile(const Work& work) {
  constexpr uint64_t kNotFinite = uint64_t{1} << 32;
  constexpr bool kReduces = Codec::kSlots > 1;
  if (!__all_sync(kWholeWarp, work.finite) && work.lane == 0) atomicAdd(work.slots, kNotFinite);
  if (kReduces) __threadfence();  // orders this warp's words in the workspace
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (kReduces) __threadfence();
  const uint64_t before = atomicAdd(work.slots, uint64_t{1});
  if (static_cast<uint32_t>(before) != work.segment.tile_count - 1) return;
  __threadfence();
  write_header(Codec::kNumber, Codec::kVersion, work.launch.codec, work.segment.n, before < kNotFinite,
               work.segment.payload, Codec::kSendsBlocks);
  if (work.segment.n != 0) Codec::end(work);
  for (uint32_t slot = 0; slot < Codec::kSlots; ++slot) work.slots[slot] = 0;
}

/// The last pass of an encoding, for segments that the launch of statistics has not ended.
template <class Codec, class Source>
__device__ __forceinline__ void encode_tile(const Launch& launch) {
  for_tile<Codec, Source>(launch, [](auto work, const Source& source) {
    if (Codec::kSecondForKept && !keeps(work.segment)) return;
    Codec::encode(work, source);
    finish_tile<Codec>(work);
  });
}

/// Runs all passes but the last.
template <class Codec, class Source>
__device__ __forceinline__ void statistics_of_tile(const Launch& launch) {
  for_tile<Codec, Source>(launch, [](auto work, const Source& source) {
    Codec::statistics(work, source);
    if constexpr (Codec::kSecondForKept) {
      if (!keeps(work.segment)) finish_tile<Codec>(work);
    }
  });
}

/// out = the sum of the decoded contributions, or out += each. It is rounded once, to the type of `out`.
template <class Codec>
__device__ __forceinline__ void decode_tile(const Launch& launch) {
  using Decoder = typename Codec::Decoder;
  const Segment& segment = segment_of_tile(launch, blockIdx.x);
  const typename Decoder::Sections at(segment.n, launch.codec.log2_block);
  const uint32_t tile = tile_of(unit_of(Codec::kHasBlocks, Codec::kOrdered, launch.codec.block));
  const uint64_t first = uint64_t{blockIdx.x - segment.first_tile} * tile, end = least(first + tile, segment.n);
  const Results out(segment);
  const auto exactly = [&](uint64_t i) {
    const uint32_t rest = i < end ? static_cast<uint32_t>(least<uint64_t>(end - i, 4)) : 0;
    Quad<float> sum = {};
    if (launch.add) sum = out.quad<Exact>(i, rest);
    add_decoded<Decoder>(sum, !launch.add, launch.codec, at, segment, i, rest);
    out.store(sum, i, rest);
  };
  constexpr uint32_t kRowOfBlock = 4 * kThreads;
  // A transform needs all threads of a warp, also those that have nothing to do.
  const uint32_t behind = Decoder::kRotates ? 4 * (threadIdx.x % kLanes) : 0;
  const bool is_whole = end == first + tile && out.is_aligned();
  const uint32_t rows = is_whole ? kRowsAtOnce : 1;
#pragma unroll 1
  for (uint64_t i = first + 4 * threadIdx.x; i < (is_whole ? end : end + behind); i += rows * kRowOfBlock) {
    if (is_whole) {
      Rows sums;
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) sums[r] = kNothing;
      if (launch.add) out.rows(sums, i, kRowOfBlock);
      add_decoded_rows<Decoder>(sums, launch.codec, at, segment, i, kRowOfBlock);
      bool nan = false;
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) nan = nan || has_nan(sums[r]);
      if (Decoder::kRotates) nan = __any_sync(kWholeWarp, nan);
      if (!nan) {
        out.store_rows(sums, i, kRowOfBlock);
        continue;
      }
    }
#pragma unroll 1
    for (uint32_t r = 0; r < rows; ++r) exactly(i + r * kRowOfBlock);
  }
}

/// Computes the gradient from the decoded vector.
template <class Codec, class Result>
__device__ __forceinline__ void result_of_tile(const Launch& launch) {
  for_tile<Codec, Gradient>(launch, [](const auto& work, const Gradient& decoded) {
    const uint64_t first = uint64_t{blockIdx.x - work.segment.first_tile} * tile_of(work.unit);
    const Results out(work.segment);
#pragma unroll 1
    for (uint64_t i = first + 4 * threadIdx.x; i < work.end; i += 4 * kThreads) {
      const uint32_t rest = static_cast<uint32_t>(least<uint64_t>(work.end - i, 4));
      Quad<float> states[Codec::kStates == 0 ? 1 : Codec::kStates];
      if constexpr (Codec::kStates != 0) {
#pragma unroll
        for (uint32_t s = 0; s < Codec::kStates; ++s) states[s] = work.state(s, i, rest);
      }
      out.store(Result::quad(work, decoded.quad(i, rest), states, i), i, rest);
      if constexpr (Codec::kStates != 0) {
#pragma unroll
        for (uint32_t s = 0; s < Codec::kStates; ++s) work.keep_state(s, states[s], i, rest);
      }
    }
  });
}

}  // namespace casync::compll::cuda
