// SPDX-License-Identifier: Apache-2.0
//
// What all generated kernels share. Compile them with -fmad=false: nothing in a codec is contracted, or its bytes
// would not be those of the CPU.
//
// A warp takes a unit at a time: a block, or the blocks of 128 elements. It loads a unit once, into shared memory that
// is its own, adds the residual there, and works on it in loops that the program's reductions divide; small units are
// loaded a stretch of 512 elements at a time. Four warps work on a tile; a launch has the tiles of many segments. The
// last tile of a segment to be done writes what is one for the segment, so no launch waits for another and no host for
// a launch.
//
// Almost all tiles are whole: for them the same text is compiled without questions about ends and alignment. Sums are
// made without asking for NaN after each addition: one in the result means that they are made again, exactly.
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
__device__ inline void write_header(uint32_t codec, uint32_t version, uint32_t log2_block, uint64_t n, bool finite,
                                    unsigned char* payload) {
  store_word(payload, 0x4c43u | version << 16 | codec << 24);
  store_word(payload + 4, (finite ? 0u : 1u) | log2_block << 8);
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

/// How many rows a warp has under way at once.
inline constexpr uint32_t kRowsAtOnce = 4;
/// The four neighbours of a thread in each of so many rows.
using Rows = Quad<float>[kRowsAtOnce];
inline constexpr Quad<float> kNothing = {{-0.0f, -0.0f, -0.0f, -0.0f}};

COMPLL_BOTH bool has_nan(const Quad<float>& x) {
  return (x[0] != x[0]) | (x[1] != x[1]) | (x[2] != x[2]) | (x[3] != x[3]);
}

/// Asks for what a warp will load, before it does: a line for each thread.
__device__ __forceinline__ void fetch_lines(const float* from, uint32_t size) {
#ifdef __CUDA_ARCH__
  constexpr uint32_t kLine = 128 / sizeof(float);
  for (uint32_t at = threadIdx.x % kLanes * kLine; at < size; at += kLanes * kLine) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at));
  }
#else
  static_cast<void>(from), static_cast<void>(size);
#endif
}

/// The vector that is encoded, before the residual: elements as they are.
class Gradient {
 public:
  __device__ Gradient(const Launch&, const Segment& segment) : in_(in_global(segment.in)) {}
  __device__ bool is_aligned() const { return cuda::is_aligned(in_); }
  __device__ Quad<float> quad(uint64_t i, uint32_t rest) const { return load_floats(in_ + i, rest); }
  __device__ __forceinline__ void fetch(uint64_t i, uint32_t size) const { fetch_lines(in_ + i, size); }
  /// Whole rows from i on, at a multiple of 16 bytes; `stride` elements apart.
  __device__ __forceinline__ void rows(Rows& x, uint64_t i, uint32_t stride) const {
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) x[r] = load_word<Quad<float>>(in_ + i + r * stride);
  }

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
    const Quad<float> own = from.raw != nullptr
                                ? load_floats(in_global(from.raw) + i, rest)
                                : Decoder(settings, from.payload, segment.n).template quad<Exact>(i, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) sum[k] = begins_empty && c == 0 ? own[k] : add(sum[k], own[k]);
  }
}

/// The same for whole rows, where a NaN may have other bits. Nothing is -0: what is added to it stays as it is.
template <class Decoder>
__device__ __forceinline__ void add_decoded_rows(Rows& sums, const Settings& settings, const Segment& segment,
                                                 uint64_t i, uint32_t stride) {
#pragma unroll 1
  for (uint32_t c = 0; c < segment.contribution_count; ++c) {
    const Contribution from = segment.contributions[c];
    Rows own;
    if (from.raw != nullptr) {
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) own[r] = load_floats(in_global(from.raw) + i + r * stride, 4);
    } else {
      const Decoder decoder(settings, from.payload, segment.n);
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) own[r] = decoder.template quad<Plain>(i + r * stride, kWholeRow);
    }
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) sums[r][k] += own[r][k];
    }
  }
}

/// The vector of a merge: the sum of contributions, scaled.
template <class Decoder>
class Merged {
 public:
  __device__ Merged(const Launch& launch, const Segment& segment) : settings_(launch.contributed), segment_(segment) {}
  __device__ bool is_aligned() const { return true; }
  __device__ void fetch(uint64_t, uint32_t) const {}
  __device__ __forceinline__ Quad<float> quad(uint64_t i, uint32_t rest) const {
    Quad<float> sum = {};
    add_decoded<Decoder>(sum, true, settings_, segment_, i, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) sum[k] = multiply(sum[k], segment_.scale);
    return sum;
  }
  __device__ __forceinline__ void rows(Rows& sums, uint64_t i, uint32_t stride) const {
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) sums[r] = kNothing;
    add_decoded_rows<Decoder>(sums, settings_, segment_, i, stride);
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) sums[r][k] *= segment_.scale;
    }
  }

 private:
  const Settings& settings_;
  const Segment& segment_;
};

/// As much of a unit as a warp has loaded at once.
struct Piece {
  uint64_t first;  ///< of its elements
  uint32_t size;
  /// Of the tensor, and of a block: one that is larger than a chunk begins with one.
  __device__ bool ends_chunk() const { return (first + size) % kReductionChunk == 0; }
};

/// The bits of the least magnitude that is none.
inline constexpr uint32_t kNan = 0x7f800001u;

/// What one warp has to do, and with what. `kIsWhole`: its units are rows that are all there, one piece each, and floats
/// lie at multiples of 16 bytes.
template <bool kIsWhole>
struct Work {
  const Launch& launch;
  const Segment& segment;
  uint64_t begin, end;  ///< its units
  uint32_t unit;
  float* own;           ///< its shared memory
  uint64_t* slots;      ///< the segment's words of the workspace
  float* residual_out;  ///< the segment's; null: it is not wanted
  uint32_t lane;
  uint32_t overflow;           ///< bits of the least magnitude that is not finite once it is encoded
  const float* kept = nullptr;  ///< the elements of the unit at hand
  bool finite = true;

  /// The unit behind: the next of the stretch, or the first of the next one that is this warp's.
  __device__ uint64_t behind(uint64_t first) const {
    const uint64_t next = first + unit;
    return (next & (stretch_of(unit) - 1)) == 0 ? next + (kWarps - 1) * stretch_of(unit) : next;
  }
  __device__ uint32_t size_at(uint64_t first) const {
    return kIsWhole ? unit : static_cast<uint32_t>(least<uint64_t>(unit, segment.n - first));
  }
  /// How many are left from this thread's four neighbours on.
  __device__ uint32_t rest(const Piece& piece, uint32_t j) const {
    return kIsWhole ? kWholeRow : j < piece.size ? piece.size - j : 0;
  }
  __device__ uint64_t block_at(uint64_t first) const { return (first + 4 * lane) >> launch.codec.log2_block; }
  /// Whether this thread's elements begin a block that is there.
  __device__ bool begins_block(uint32_t size) const {
    return (4 * lane & (launch.codec.block - 1)) == 0 && (kIsWhole || 4 * lane < size);
  }
  __device__ RandomStream random() const { return {launch.seed, segment.gradient, launch.step, segment.first}; }
  __device__ Quad<float> quad(uint32_t j) const { return load_word<Quad<float>>(kept + j); }

  /// Brings in what is at `at` of a unit, with the residual; zeros behind the last element. Of small units all of a
  /// stretch, with its first one.
  template <class Source>
  __device__ __forceinline__ Piece load(const Source& source, uint64_t first, uint32_t at, uint32_t size) {
    const Piece piece = {first + at, least(kPiece, size - at)};
    const uint32_t within = unit < kStretch ? static_cast<uint32_t>(first) & (kStretch - 1) : 0;
    kept = own + within;
    if (within != 0) return piece;
    // What is smaller than a row another thread may have brought.
    const bool is_shared = !kIsWhole && unit < kRow;
    if (is_shared) __syncwarp();
    const uint64_t left = segment.n - first;
    bring(source, piece.first, unit >= kStretch ? piece.size : static_cast<uint32_t>(least<uint64_t>(kStretch, left)));
    if (is_shared) __syncwarp();
    return piece;
  }

  /// The same in a later loop over the unit: what has been loaded is there, if it was all.
  template <class Source>
  __device__ __forceinline__ Piece again(const Source& source, uint64_t first, uint32_t at, uint32_t size) {
    return kIsWhole || size <= kPiece ? Piece{first, size} : load(source, first, at, size);
  }

  /// The residual of four neighbours, if it is wanted.
  __device__ __forceinline__ void keep_back(const Quad<float>& values, uint64_t i, uint32_t rest) const {
    float* const to = in_global(residual_out) + i;
    if constexpr (kIsWhole) {
      store_aligned(values, to);
    } else {
      store_floats(values, to, rest);
    }
  }

 private:
  template <class Source>
  __device__ __forceinline__ void bring(const Source& source, uint64_t first, uint32_t size) {
    const float* residual = segment.residual_in == nullptr ? nullptr : in_global(segment.residual_in) + first;
    const bool in_rows = kIsWhole || (size % kStretch == 0 && source.is_aligned() && is_aligned(residual));
#pragma unroll 1
    for (uint32_t at = 0; at < size; at += kStretch) {
      const uint32_t top = in_rows ? bring_rows(source, first, residual, at + 4 * lane) : kNan;
      if (top < kNan) {
        finite = finite && top < overflow;
        continue;
      }
#pragma unroll 1
      for (uint32_t row = at; row < least(at + kStretch, size); row += kRow) {
        const uint32_t j = row + 4 * lane;
        const uint32_t top_of_row = bring_row(source, first, residual, j, j < size ? size - j : 0);
        finite = finite && top_of_row < overflow;
      }
    }
  }

  /// Nothing is used before all of it has been asked for.
  template <class Source>
  __device__ __forceinline__ uint32_t bring_rows(const Source& source, uint64_t first, const float* residual,
                                                 uint32_t j) {
    Rows x, more;
    if (residual != nullptr) {
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) more[r] = load_word<Quad<float>>(in_global(residual) + j + r * kRow);
    }
    source.rows(x, first + j, kRow);
    uint32_t top = 0;
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        if (residual != nullptr) x[r][k] += more[r][k];
      }
      top = max(top, keep(j + r * kRow, x[r]));
    }
    return top;
  }

  template <class Source>
  __device__ __forceinline__ uint32_t bring_row(const Source& source, uint64_t first, const float* residual, uint32_t j,
                                                uint32_t rest) {
    Quad<float> x = {}, more = {};
    if (rest != 0) x = source.quad(first + j, rest);
    if (rest != 0 && residual != nullptr) more = load_floats(in_global(residual) + j, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (residual != nullptr) x[k] = add(x[k], more[k]);
      if (k >= rest) x[k] = 0;
    }
    return keep(j, x);
  }

  /// The largest magnitude of four, by its bits, which are kept.
  __device__ __forceinline__ uint32_t keep(uint32_t j, const Quad<float>& x) {
    store_word(own + j, x);
    uint32_t top = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) top = max(top, bits(x[k]) & 0x7fffffffu);
    return top;
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
template <bool kIsWhole, class Codec>
__device__ __forceinline__ Work<kIsWhole> work_of_tile(const Launch& launch, const Segment& segment, uint32_t unit) {
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

/// Does the work on this tile, as that on a whole one where it is whole.
template <class Codec, class Source, class Do>
__device__ __forceinline__ void for_tile(const Launch& launch, const Do& work) {
  const Segment& segment = segment_of_tile(launch, blockIdx.x);
  const uint32_t unit = unit_of(Codec::kHasBlocks, Codec::kOrdered, launch.codec.block);
  const Source source(launch, segment);
  const uint64_t end = uint64_t{blockIdx.x - segment.first_tile + 1} * tile_of(unit);
  if (unit >= kRow && unit <= kPiece && end <= segment.n && source.is_aligned() && is_aligned(segment.residual_in) &&
      is_aligned(segment.residual_out)) {
    const Work<true> of_warp = work_of_tile<true, Codec>(launch, segment, unit);
    for (uint64_t first = of_warp.begin; first < of_warp.end; first += kWarps * stretch_of(unit)) {
      source.fetch(first, stretch_of(unit));
      if (segment.residual_in != nullptr) fetch_lines(in_global(segment.residual_in) + first, stretch_of(unit));
    }
    work(of_warp, source);
  } else {
    work(work_of_tile<false, Codec>(launch, segment, unit), source);
  }
}

/// Behind a tile: the last one of its segment writes the header, the zeros between sections and what is one for the
/// tensor, and leaves the workspace as it was found.
template <class Codec, class Work>
__device__ __forceinline__ void finish_tile(const Work& work) {
  // Tells the segment's last tile of NaN and infinity.
  if (!__all_sync(kWholeWarp, work.finite) && work.lane == 0) atomicMax(work.slots + 1, uint64_t{1});
  __threadfence();  // of this warp's words in the workspace
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  const uint32_t tiles = work.segment.tile_count;
  if (tiles != 1 && atomicAdd(work.slots, uint64_t{1}) != tiles - 1) return;
  __threadfence();
  const bool finite = load_slot(work.slots + 1) == 0;
  write_header(Codec::kNumber, Codec::kVersion, work.launch.codec.log2_block, work.segment.n, finite,
               work.segment.payload);
  if (work.segment.n != 0) Codec::end(work);
  for (uint32_t slot = 0; slot < Codec::kSlots; ++slot) work.slots[slot] = 0;
}

/// The last pass of an encoding.
template <class Codec, class Source>
__device__ __forceinline__ void encode_tile(const Launch& launch) {
  for_tile<Codec, Source>(launch, [](auto work, const Source& source) {
    Codec::encode(work, source);
    finish_tile<Codec>(work);
  });
}

/// The passes before it.
template <class Codec, class Source>
__device__ __forceinline__ void statistics_of_tile(const Launch& launch) {
  for_tile<Codec, Source>(launch, [](auto work, const Source& source) { Codec::statistics(work, source); });
}

/// out = the sum of what was decoded, or out += each.
template <class Codec>
__device__ __forceinline__ void decode_tile(const Launch& launch) {
  using Decoder = typename Codec::Decoder;
  const Segment& segment = segment_of_tile(launch, blockIdx.x);
  const uint32_t tile = tile_of(unit_of(Codec::kHasBlocks, Codec::kOrdered, launch.codec.block));
  const uint64_t first = uint64_t{blockIdx.x - segment.first_tile} * tile, end = least(first + tile, segment.n);
  float* const out = in_global(segment.out);
  const auto exactly = [&](uint64_t i) {
    const uint32_t rest = static_cast<uint32_t>(least<uint64_t>(end - i, 4));
    Quad<float> sum = {};
    if (launch.add) sum = load_floats(out + i, rest);
    add_decoded<Decoder>(sum, !launch.add, launch.codec, segment, i, rest);
    store_floats(sum, out + i, rest);
  };
  constexpr uint32_t kRowOfBlock = 4 * kThreads;
  uint64_t i = first + 4 * threadIdx.x;
  if (end == first + tile && is_aligned(out)) {
#pragma unroll 1
    for (; i < end; i += kRowsAtOnce * kRowOfBlock) {
      Rows sums;
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
        sums[r] = kNothing;
        if (launch.add) sums[r] = load_word<Quad<float>>(out + i + r * kRowOfBlock);
      }
      add_decoded_rows<Decoder>(sums, launch.codec, segment, i, kRowOfBlock);
      bool nan = false;
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) nan = nan || has_nan(sums[r]);
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce && !nan; ++r) store_aligned(sums[r], out + i + r * kRowOfBlock);
#pragma unroll 1
      for (uint32_t r = 0; r < kRowsAtOnce && nan; ++r) exactly(i + r * kRowOfBlock);
    }
  } else {
#pragma unroll 1
    for (; i < end; i += kRowOfBlock) exactly(i);
  }
}

}  // namespace casync::compll::cuda
