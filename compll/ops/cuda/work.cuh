// SPDX-License-Identifier: Apache-2.0
//
// What a warp works on: the elements of a unit, brought into shared memory from a gradient or from a sum of what was
// decoded, with the residual.
#pragma once

#include "compll/ops/cuda/packing.cuh"
#include "compll/ops/cuda/random.cuh"
#include "compll/ops/cuda/reducers.cuh"

namespace casync::compll::cuda {

/// How many rows a warp has under way at once.
inline constexpr uint32_t kRowsAtOnce = 4;
/// The four neighbours of a thread in each of so many rows.
using Rows = Quad<float>[kRowsAtOnce];
inline constexpr Quad<float> kNothing = {{-0.0f, -0.0f, -0.0f, -0.0f}};

COMPLL_BOTH bool has_nan(const Quad<float>& x) {
  return (x[0] != x[0]) | (x[1] != x[1]) | (x[2] != x[2]) | (x[3] != x[3]);
}

/// The vector that is encoded, before the residual: elements as they are.
class Gradient {
 public:
  static constexpr bool kTurns = false;
  __device__ Gradient(const Launch&, const Segment& segment) : in_(in_global(segment.in)) {}
  __device__ bool is_aligned() const { return cuda::is_aligned(in_); }
  __device__ void ask_for(uint64_t, uint64_t) const {}
  __device__ Quad<float> quad(uint64_t i, uint32_t rest) const { return load_floats(in_ + i, rest); }
  /// Whole rows from i on, at a multiple of 16 bytes; `stride` elements apart.
  __device__ __forceinline__ void rows(Rows& x, uint64_t i, uint32_t stride) const {
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) x[r] = load_word<Quad<float>>(in_ + i + r * stride);
  }

 private:
  const float* in_;
};

/// sum = the decoded contributions in their order, or sum += each. `at`: where the sections of each lie.
template <class Decoder>
__device__ __forceinline__ void add_decoded(Quad<float>& sum, bool begins_empty, const Settings& settings,
                                            const typename Decoder::Sections& at, const Segment& segment, uint64_t i,
                                            uint32_t rest) {
#pragma unroll 1
  for (uint32_t c = 0; c < segment.contribution_count; ++c) {
    const Contribution& from = in_global(segment.contributions)[c];
    const Quad<float> own = from.raw != nullptr
                                ? load_floats(in_global(from.raw) + i, rest)
                                : Decoder(settings, at, from.payload, segment.n).template quad<Exact>(i, 0, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) sum[k] = begins_empty && c == 0 ? own[k] : add(sum[k], own[k]);
  }
}

/// The same for whole rows, where a NaN may have other bits. Nothing is -0: what is added to it stays as it is.
template <class Decoder>
__device__ __forceinline__ void add_decoded_rows(Rows& sums, const Settings& settings,
                                                 const typename Decoder::Sections& at, const Segment& segment,
                                                 uint64_t i, uint32_t stride) {
#pragma unroll 1
  for (uint32_t c = 0; c < segment.contribution_count; ++c) {
    const Contribution from = in_global(segment.contributions)[c];
    Rows own;
    if (from.raw != nullptr) {
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) own[r] = load_floats(in_global(from.raw) + i + r * stride, 4);
    } else {
      const Decoder decoder(settings, at, from.payload, segment.n);
#pragma unroll
      for (uint32_t r = 0; r < kRowsAtOnce; ++r) own[r] = decoder.template quad<Plain>(i, r * stride, kWholeRow);
    }
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) sums[r][k] += own[r][k];
    }
  }
}

/// The block of threads will decode these elements.
template <class Decoder>
__device__ __forceinline__ void ask_for_contributions(const typename Decoder::Sections& at, const Segment& segment,
                                                      uint64_t first, uint64_t count) {
#pragma unroll 1
  for (uint32_t c = 0; c < segment.contribution_count; ++c) {
    const Contribution from = in_global(segment.contributions)[c];
    if (from.raw == nullptr) Decoder::ask_for(at, from.payload, first, count);
  }
}

/// The vector of a merge: the sum of contributions, scaled.
template <class Decoder>
class Merged {
 public:
  static constexpr bool kTurns = Decoder::kTurns;
  __device__ Merged(const Launch& launch, const Segment& segment)
      : settings_(launch.contributed), at_(segment.n, settings_.log2_block), segment_(segment) {}
  __device__ bool is_aligned() const { return true; }
  __device__ __forceinline__ void ask_for(uint64_t first, uint64_t count) const {
    ask_for_contributions<Decoder>(at_, segment_, first, count);
  }
  __device__ __forceinline__ Quad<float> quad(uint64_t i, uint32_t rest) const {
    Quad<float> sum = {};
    add_decoded<Decoder>(sum, true, settings_, at_, segment_, i, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) sum[k] = multiply(sum[k], segment_.scale);
    return sum;
  }
  __device__ __forceinline__ void rows(Rows& sums, uint64_t i, uint32_t stride) const {
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) sums[r] = kNothing;
    add_decoded_rows<Decoder>(sums, settings_, at_, segment_, i, stride);
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) sums[r][k] *= segment_.scale;
    }
  }

 private:
  const Settings& settings_;
  const typename Decoder::Sections at_;
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
template <bool kIsWhole, uint32_t kStates>
struct Work {
  static constexpr bool kIsAllThere = kIsWhole;

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
    store(values, in_global(residual_out) + i, rest);
  }

  /// Four neighbours of a state, and one element.
  __device__ __forceinline__ Quad<float> state(uint32_t index, uint64_t i, uint32_t rest) const {
    const float* const from = in_global(segment.states_in) + index * segment.state_stride + i;
    if constexpr (kIsWhole) return load_word<Quad<float>>(from);
    Quad<float> values = {};
    if (rest != 0) values = load_floats(from, rest);
    return values;
  }
  __device__ __forceinline__ float state_at(uint32_t index, uint64_t i) const {
    return in_global(segment.states_in)[index * segment.state_stride + i];
  }
  __device__ __forceinline__ void keep_state(uint32_t index, const Quad<float>& values, uint64_t i,
                                             uint32_t rest) const {
    if (segment.states_out == nullptr) return;
    store(values, in_global(segment.states_out) + index * segment.state_stride + i, rest);
  }

 private:
  static __device__ __forceinline__ void store(const Quad<float>& values, float* to, uint32_t rest) {
    if constexpr (kIsWhole) {
      store_aligned(values, to);
    } else {
      store_floats(values, to, rest);
    }
  }

  template <class Source>
  __device__ __forceinline__ void bring(const Source& source, uint64_t first, uint32_t size) {
    const float* residual = segment.residual_in == nullptr ? nullptr : in_global(segment.residual_in) + first;
#pragma unroll 1
    for (uint32_t at = 0; at < size; at += kStretch) {
      if constexpr (kStates != 0) ask_for_states(first + at, size - at);
      if constexpr (kIsWhole) {
        const uint32_t top = bring_rows(source, first, residual, at + 4 * lane);
        // Whoever turns elements does it with all of a warp, or not at all.
        if (Source::kTurns ? __all_sync(kWholeWarp, top < kNan) : top < kNan) {
          finite = finite && top < overflow;
          continue;
        }
      }
#pragma unroll 1
      for (uint32_t row = at; row < least(at + kStretch, size); row += kRow) {
        const uint32_t j = row + 4 * lane;
        const uint32_t top_of_row = bring_row(source, first, residual, j, j < size ? size - j : 0);
        finite = finite && top_of_row < overflow;
      }
    }
  }

  /// What loops over units then load one row at a time is near by then.
  __device__ __forceinline__ void ask_for_states(uint64_t first, uint32_t size) const {
    const uint32_t j = 32 * lane;  // a line of the cache for each thread
    if (j >= least(kStretch, size)) return;
#pragma unroll
    for (uint32_t s = 0; s < kStates; ++s) {
      prefetch(in_global(segment.states_in) + s * segment.state_stride + first + j);
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
    if (Source::kTurns || rest != 0) x = source.quad(first + j, rest);
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

}  // namespace casync::compll::cuda
