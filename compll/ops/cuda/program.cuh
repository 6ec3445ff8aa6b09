// SPDX-License-Identifier: Apache-2.0
//
// What all generated kernels share. Compile them with -fmad=false: nothing in a codec is contracted, or its bytes
// would not be those of the CPU.
//
// A warp takes a unit at a time: a block, or the blocks of 128 elements. It loads a unit once, into shared memory that
// is its own, adds the residual there, and works on it in loops that the program's reductions divide. Four warps work
// on a tile; a launch has the tiles of many segments. The last tile of a segment to be done writes what is one for the
// segment, so no launch waits for another and no host for a launch.
#pragma once

#include "compll/ops/cuda/packing.cuh"
#include "compll/ops/cuda/random.cuh"
#include "compll/ops/cuda/reducers.cuh"

namespace casync::compll::cuda {

inline constexpr uint64_t kHeaderBytes = 16, kSectionAlignment = 16;

// By shifting: a GPU has no division of 64 bits.
COMPLL_BOTH uint64_t entries_of_blocks(uint64_t n, uint32_t log2_block) {
  return n == 0 ? 0 : ((n - 1) >> log2_block) + 1;
}
COMPLL_BOTH uint64_t end_of_section(uint64_t begin, uint64_t entries, uint32_t entry_bits) {
  return begin + bytes_of_section(entries, entry_bits);
}
COMPLL_BOTH uint64_t section_behind(uint64_t end) {
  return (end + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

/// docs/payloads.md.
__device__ inline void write_header(uint32_t codec, uint32_t version, const Settings& settings, uint64_t n, bool finite,
                                    unsigned char* payload) {
  store_word(payload, 0x4c43u | version << 16 | codec << 24);
  store_word(payload + 4, (finite ? 0u : 1u) | settings.log2_block << 8 | settings.program << 16);
  store_word(payload + 8, n);
}

/// A word of the workspace that other threads have written in this launch.
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

/// The vector that is encoded, before the residual: elements as they are.
class Gradient {
 public:
  static constexpr bool kIsMemory = true;
  __device__ Gradient(const Launch&, const Segment& segment) : in_(in_global(segment.in)) {}
  __device__ Quad<float> quad(uint64_t i, uint32_t rest) const { return load_floats(in_ + i, rest); }
  __device__ const float* at(uint64_t i) const { return in_ + i; }

 private:
  const float* in_;
};

/// sum = the decoded contributions in their order, or sum += each.
template <class Decoder>
__device__ __forceinline__ void add_decoded(Quad<float>& sum, bool begins_empty, const Settings& settings,
                                            const Segment& segment, uint64_t i, uint32_t rest) {
#pragma unroll 1
  for (uint32_t c = 0; c < segment.contribution_count; ++c) {
    const Contribution& from = segment.contributions[c];
    const Quad<float> own = from.raw != nullptr ? load_floats(in_global(from.raw) + i, rest)
                                                : Decoder(settings, from.payload, segment.n).quad(i, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) sum[k] = begins_empty && c == 0 ? own[k] : add(sum[k], own[k]);
  }
}

/// The vector of a merge: the sum of contributions, scaled.
template <class Decoder>
class Merged {
 public:
  static constexpr bool kIsMemory = false;
  __device__ Merged(const Launch& launch, const Segment& segment) : settings_(launch.contributed), segment_(segment) {}
  __device__ __forceinline__ Quad<float> quad(uint64_t i, uint32_t rest) const {
    Quad<float> sum = {};
    add_decoded<Decoder>(sum, true, settings_, segment_, i, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) sum[k] = multiply(sum[k], segment_.scale);
    return sum;
  }

 private:
  const Settings& settings_;
  const Segment& segment_;
};

/// As much of a unit as a warp has loaded at once.
struct Piece {
  uint64_t first;  ///< of its elements
  uint32_t size;
  __device__ uint32_t rest(uint32_t j) const { return j < size ? size - j : 0; }
  /// Of the tensor, and of a block: one that is larger than a chunk begins with one.
  __device__ bool ends_chunk() const { return (first + size) % kReductionChunk == 0; }
};

/// What one warp has to do, and with what.
struct Work {
  const Launch& launch;
  const Segment& segment;
  uint64_t begin, end, stride;  ///< its units
  uint32_t unit;
  float* kept;      ///< its own shared memory
  uint64_t* slots;  ///< the segment's words of the workspace
  uint32_t lane;
  uint32_t overflow;  ///< bits of the least magnitude that is not finite once it is encoded
  bool finite = true;

  __device__ uint32_t size_at(uint64_t first) const {
    return static_cast<uint32_t>(least<uint64_t>(unit, segment.n - first));
  }
  __device__ uint64_t block_at(uint64_t first) const { return (first + 4 * lane) >> launch.codec.log2_block; }
  /// Whether this thread's elements begin a block that is there.
  __device__ bool begins_block(uint32_t size) const { return 4 * lane % launch.codec.block == 0 && 4 * lane < size; }
  __device__ RandomStream random() const { return {launch.seed, segment.gradient, launch.step, segment.first}; }
  __device__ Quad<float> quad(uint32_t j) const { return load_word<Quad<float>>(kept + j); }

  /// Brings in what is at `at` of a unit, with the residual; zeros behind the last element.
  template <class Source>
  __device__ __forceinline__ Piece load(const Source& source, uint64_t first, uint32_t at, uint32_t size) {
    const Piece piece = {first + at, least(kPiece, size - at)};
    const float* residual = segment.residual_in == nullptr ? nullptr : in_global(segment.residual_in) + piece.first;
    uint32_t top = 0;
    bool is_loaded = false;
    if constexpr (Source::kIsMemory) {
      if (piece.size % kRow == 0 && is_aligned(source.at(piece.first)) && is_aligned(residual)) {
        top = residual == nullptr ? load_rows<false>(source.at(piece.first), residual, piece.size)
                                  : load_rows<true>(source.at(piece.first), residual, piece.size);
        is_loaded = true;
      }
    }
#pragma unroll 1
    for (uint32_t row = 0; row < piece.size && !is_loaded; row += kRow) {
      const uint32_t j = row + 4 * lane, rest = piece.rest(j);
      Quad<float> x = {}, more = {};
      if (rest != 0) x = source.quad(piece.first + j, rest);
      if (rest != 0 && residual != nullptr) more = load_floats(in_global(residual) + j, rest);
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        if (residual != nullptr) x[k] = add(x[k], more[k]);
        if (k >= rest) x[k] = 0;
      }
      top = max(top, keep(j, x));
    }
    finite = finite && top < overflow;
    return piece;
  }

  /// Whole rows of memory at a multiple of 16 bytes. Two are under way at once: nothing is used, and nothing else is
  /// stored, before both have been asked for.
  template <bool kResidual>
  __device__ __forceinline__ uint32_t load_rows(const float* in, const float* residual, uint32_t size) {
    constexpr uint32_t kTogether = 2;
    uint32_t top = 0;
#pragma unroll 1
    for (uint32_t row = 0; row < size; row += kTogether * kRow) {
      Quad<float> x[kTogether], more[kTogether];
#pragma unroll
      for (uint32_t r = 0; r < kTogether; ++r) {
        const uint32_t j = row + r * kRow + 4 * lane;
        if (row + r * kRow < size) x[r] = load_word<Quad<float>>(in + j);
        if (kResidual && row + r * kRow < size) more[r] = load_word<Quad<float>>(in_global(residual) + j);
      }
#pragma unroll
      for (uint32_t r = 0; r < kTogether; ++r) {
        if (row + r * kRow >= size) break;
#pragma unroll
        for (uint32_t k = 0; k < 4 && kResidual; ++k) x[r][k] = add(x[r][k], more[r][k]);
        top = max(top, keep(row + r * kRow + 4 * lane, x[r]));
      }
    }
    return top;
  }

  /// The largest magnitude of four, by its bits, which are kept.
  __device__ __forceinline__ uint32_t keep(uint32_t j, const Quad<float>& x) {
    store_word(kept + j, x);
    uint32_t top = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) top = max(top, bits(x[k]) & 0x7fffffffu);
    return top;
  }

  /// The same in a later loop over the unit: what has been loaded is there, if it was all.
  template <class Source>
  __device__ Piece again(const Source& source, uint64_t first, uint32_t at, uint32_t size) {
    return size > kPiece ? load(source, first, at, size) : Piece{first, size};
  }
};

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

/// The segment that a tile belongs to: the last one that begins at it or before.
__device__ inline const Segment& segment_of_tile(const Launch& launch, uint32_t tile) {
  uint32_t low = 0, high = launch.segment_count;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (launch.segments[middle].first_tile <= tile ? low : high) = middle;
  }
  return launch.segments[low];
}

/// The work of this warp on the tile of this block of threads.
template <class Codec>
__device__ __forceinline__ Work work_of_tile(const Launch& launch) {
  const Segment& segment = segment_of_tile(launch, blockIdx.x);
  const uint32_t unit = unit_of(Codec::kHasBlocks, Codec::kOrdered, launch.codec.block), tile = tile_of(unit);
  const uint32_t warp = threadIdx.x / kLanes;
  const uint64_t first = uint64_t{blockIdx.x - segment.first_tile} * tile;
  const uint64_t slots = static_cast<uint64_t>(&segment - launch.segments) * Codec::kSlots;
  return {launch,
          segment,
          first + warp * unit,
          least(first + tile, segment.n),
          kWarps * uint64_t{unit},
          unit,
          reinterpret_cast<float*>(shared_memory()) + warp * kept_of(unit),
          launch.workspace + slots,
          threadIdx.x % kLanes,
          Codec::kOverflow};
}

/// Tells the segment's last tile of NaN and infinity.
__device__ __forceinline__ void note_finite(const Work& work) {
  if (!__all_sync(kWholeWarp, work.finite) && work.lane == 0) atomicMax(work.slots + 1, uint64_t{1});
}

/// Behind a tile: the last one of its segment writes the header, the zeros between sections and what is one for the
/// tensor, and leaves the workspace as it was found.
template <class Codec>
__device__ __forceinline__ void finish_tile(const Work& work) {
  note_finite(work);
  __threadfence();  // of this warp's words in the workspace
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  const uint32_t tiles = work.segment.tile_count;
  if (tiles != 1 && atomicAdd(work.slots, uint64_t{1}) != tiles - 1) return;
  __threadfence();
  const bool finite = load_slot(work.slots + 1) == 0;
  write_header(Codec::kNumber, Codec::kVersion, work.launch.codec, work.segment.n, finite, work.segment.payload);
  if (work.segment.n != 0) Codec::end(work);
  for (uint32_t slot = 0; slot < Codec::kSlots; ++slot) work.slots[slot] = 0;
}

/// The last pass of an encoding.
template <class Codec, class Source>
__device__ __forceinline__ void encode_tile(const Launch& launch) {
  Work work = work_of_tile<Codec>(launch);
  Codec::encode(work, Source(launch, work.segment));
  finish_tile<Codec>(work);
}

/// The passes before it.
template <class Codec, class Source>
__device__ __forceinline__ void statistics_of_tile(const Launch& launch) {
  Work work = work_of_tile<Codec>(launch);
  Codec::statistics(work, Source(launch, work.segment));
}

/// out = the sum of what was decoded, or out += each.
template <class Codec>
__device__ __forceinline__ void decode_tile(const Launch& launch) {
  const Segment& segment = segment_of_tile(launch, blockIdx.x);
  const uint32_t tile = tile_of(unit_of(Codec::kHasBlocks, Codec::kOrdered, launch.codec.block));
  const uint64_t first = uint64_t{blockIdx.x - segment.first_tile} * tile, end = least(first + tile, segment.n);
#pragma unroll 2
  for (uint64_t i = first + 4 * threadIdx.x; i < end; i += 4 * kThreads) {
    const uint32_t rest = static_cast<uint32_t>(least<uint64_t>(end - i, 4));
    Quad<float> sum = {};
    if (launch.add) sum = load_floats(in_global(segment.out) + i, rest);
    add_decoded<typename Codec::Decoder>(sum, !launch.add, launch.codec, segment, i, rest);
    store_floats(sum, in_global(segment.out) + i, rest);
  }
}

}  // namespace casync::compll::cuda
