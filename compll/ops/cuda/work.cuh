// SPDX-License-Identifier: Apache-2.0
//
// The work of a warp: the elements of a unit, loaded into shared memory from a gradient or from a sum of decoded
// contributions, with the residual.
#pragma once

#include "compll/ops/cuda/elements.cuh"
#include "compll/ops/cuda/random.cuh"
#include "compll/ops/cuda/reducers.cuh"

namespace casync::compll::cuda {

inline constexpr Quad<float> kNothing = {{-0.0f, -0.0f, -0.0f, -0.0f}};

COMPLL_BOTH bool has_nan(const Quad<float>& x) {
  return (x[0] != x[0]) | (x[1] != x[1]) | (x[2] != x[2]) | (x[3] != x[3]);
}

/// The vector to encode, without the residual: elements as they are.
class Gradient {
 public:
  static constexpr bool kRotates = false;
  __device__ Gradient(const Launch&, const Segment& segment) : in_(segment.in, segment.in_type) {}
  __device__ bool is_aligned() const { return in_.is_aligned(); }
  __device__ void ask_for(uint64_t, uint64_t) const {}
  __device__ Quad<float> quad(uint64_t i, uint32_t rest) const { return in_.quad<Exact>(i, rest); }
  /// Whole rows from i on, aligned; `stride` elements apart. A NaN may have other bits.
  __device__ __forceinline__ void rows(Rows& x, uint64_t i, uint32_t stride) const { in_.rows(x, i, stride); }

 private:
  const Elements in_;
};

/// sum = the decoded contributions in their order, or sum += each. `at`: the places of each one's sections.
template <class Decoder>
__device__ __forceinline__ void add_decoded(Quad<float>& sum, bool begins_empty, const Settings& settings,
                                            const typename Decoder::Sections& at, const Segment& segment, uint64_t i,
                                            uint32_t rest) {
#pragma unroll 1
  for (uint32_t c = 0; c < segment.contribution_count; ++c) {
    const Contribution& from = in_global(segment.contributions)[c];
    const Quad<float> own = from.raw != nullptr
                                ? Elements(from.raw, from.raw_type).template quad<Exact>(i, rest)
                                : Decoder(settings, at, from.payload, segment.n).template quad<Exact>(i, 0, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) sum[k] = begins_empty && c == 0 ? own[k] : add(sum[k], own[k]);
  }
}

/// The same for whole rows, in which a NaN may have other bits. kNothing is -0: adding to it changes nothing.
template <class Decoder>
__device__ __forceinline__ void add_decoded_rows(Rows& sums, const Settings& settings,
                                                 const typename Decoder::Sections& at, const Segment& segment,
                                                 uint64_t i, uint32_t stride) {
#pragma unroll 1
  for (uint32_t c = 0; c < segment.contribution_count; ++c) {
    const Contribution from = in_global(segment.contributions)[c];
    Rows own;
    if (from.raw != nullptr) {
      Elements(from.raw, from.raw_type).rows_anywhere(own, i, stride);
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

/// Prefetches elements that the block of threads will decode.
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
  static constexpr bool kRotates = Decoder::kRotates;
  __device__ Merged(const Launch& launch, const Segment& segment)
      : settings_(launch.codec), at_(segment.n, settings_.log2_block), segment_(segment) {}
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

/// The part of a unit that a warp has loaded at once.
struct Piece {
  uint64_t first;  ///< its first element
  uint32_t size;
  /// Returns true if a chunk ends here, of the tensor or of a block: a block larger than a chunk begins with one.
  __device__ bool ends_chunk() const { return (first + size) % kReductionChunk == 0; }
};

/// The bits of the least magnitude that is no number.
inline constexpr uint32_t kNan = 0x7f800001u;

/// The work of one warp, and its memory. `kIsWhole`: its units are rows of which all elements exist, one piece each,
/// and floats lie at multiples of 16 bytes.
template <bool kIsWhole, uint32_t kStates>
struct Work {
  static constexpr bool kIsAllThere = kIsWhole;

  const Launch& launch;
  const Segment& segment;
  uint64_t begin, end;  ///< its units
  uint32_t unit;
  float* own;           ///< its shared memory
  uint64_t* slots;      ///< the segment's words of the workspace
  float* residual_out;  ///< the segment's; null: the caller does not want it
  uint32_t lane;
  uint32_t overflow;           ///< bits of the least magnitude that is not finite once encoded
  const float* kept = nullptr;  ///< the elements of the unit at hand
  bool finite = true;

  /// Returns the next unit: the next of the stretch, or the first of the next stretch that is this warp's.
  __device__ uint64_t behind(uint64_t first) const {
    const uint64_t next = first + unit;
    return (next & (stretch_of(unit) - 1)) == 0 ? next + (kWarps - 1) * stretch_of(unit) : next;
  }
  __device__ uint32_t size_at(uint64_t first) const {
    return kIsWhole ? unit : static_cast<uint32_t>(least<uint64_t>(unit, segment.n - first));
  }
  /// The number of elements left from this thread's four neighbours on.
  __device__ uint32_t rest(const Piece& piece, uint32_t j) const {
    return kIsWhole ? kWholeRow : j < piece.size ? piece.size - j : 0;
  }
  /// The block of this thread's elements. A unit smaller than a row is one block, of which some threads have no element
  /// but a part of its sums.
  __device__ uint64_t block_at(uint64_t first) const {
    const bool is_small = !kIsWhole && unit < kRow;
    return (is_small ? first : first + 4 * lane) >> launch.codec.log2_block;
  }
  /// Returns true if this thread's elements begin a block that exists.
  __device__ bool begins_block(uint32_t size) const {
    return (4 * lane & (launch.codec.block - 1)) == 0 && (kIsWhole || 4 * lane < size);
  }
  __device__ RandomStream random() const { return {launch.seed, segment.gradient, launch.step, segment.first}; }
  __device__ Quad<float> quad(uint32_t j) const { return load_word<Quad<float>>(kept + j); }

  /// Loads the elements at `at` of a unit, with the residual; zeros after the last element. Of small units, loading
  /// the first one of a stretch loads the whole stretch.
  template <class Source>
  __device__ __forceinline__ Piece load(const Source& source, uint64_t first, uint32_t at, uint32_t size) {
    const Piece piece = {first + at, least(kPiece, size - at)};
    const uint32_t within = unit < kStretch ? static_cast<uint32_t>(first) & (kStretch - 1) : 0;
    kept = own + within;
    if (within != 0) return piece;
    // Another thread may have loaded elements of a unit smaller than a row.
    const bool is_shared = !kIsWhole && unit < kRow;
    if (is_shared) __syncwarp();
    const uint64_t left = segment.n - first;
    bring(source, piece.first, unit >= kStretch ? piece.size : static_cast<uint32_t>(least<uint64_t>(kStretch, left)));
    if (is_shared) __syncwarp();
    return piece;
  }

  /// Returns a piece in a later loop over the unit: a unit of one piece is still there, others are loaded again.
  template <class Source>
  __device__ __forceinline__ Piece again(const Source& source, uint64_t first, uint32_t at, uint32_t size) {
    return kIsWhole || size <= kPiece ? Piece{first, size} : load(source, first, at, size);
  }

  /// Stores the residual of four neighbours, if the caller wants it.
  __device__ __forceinline__ void keep_back(const Quad<float>& values, uint64_t i, uint32_t rest) const {
    store(values, in_global(residual_out) + i, rest);
  }

  /// Loads four neighbours of a state, or one element.
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
        // A transform needs all threads of a warp, or none.
        if (Source::kRotates ? __all_sync(kWholeWarp, top < kNan) : top < kNan) {
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

  /// Prefetches states, which loops over units then load one row at a time.
  __device__ __forceinline__ void ask_for_states(uint64_t first, uint32_t size) const {
    const uint32_t j = 32 * lane;  // a line of the cache for each thread
    if (j >= least(kStretch, size)) return;
#pragma unroll
    for (uint32_t s = 0; s < kStates; ++s) {
      prefetch(in_global(segment.states_in) + s * segment.state_stride + first + j);
    }
  }

  /// Asks for all elements ahead of using any.
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
    if (Source::kRotates || rest != 0) x = source.quad(first + j, rest);
    if (rest != 0 && residual != nullptr) more = load_floats(in_global(residual) + j, rest);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (residual != nullptr) x[k] = add(x[k], more[k]);
      if (k >= rest) x[k] = 0;
    }
    return keep(j, x);
  }

  /// Keeps four elements; returns the bits of their largest magnitude.
  __device__ __forceinline__ uint32_t keep(uint32_t j, const Quad<float>& x) {
    store_word(own + j, x);
    uint32_t top = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) top = max(top, bits(x[k]) & 0x7fffffffu);
    return top;
  }
};

}  // namespace casync::compll::cuda
