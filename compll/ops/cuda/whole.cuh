// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of programs share that need the whole vector: selection, states, rotation. A program's function is
// cut into stages, one launch each: what a stage reads of other tiles an earlier one has made. A block of threads works
// on one tile of one segment, and the steps of a stage follow one another on it; behind them the last tile of a segment
// to be done finds what is one for the segment. An array is something that gives its element i, in memory or computed
// where it is used. Nothing is contracted: compile with -fmad=false.
#pragma once

#include "compll/ops/cuda/program.cuh"

namespace casync::compll::cuda {

inline constexpr uint32_t kWholeTile = 4096;

/// Shared memory of a block of threads: what a step keeps of a tile, and what threads tell each other.
struct Shared {
  uint32_t words[kWholeTile];
  uint64_t told[64];
  uint32_t sums[kThreads];
};

// With the NaN of the operand, as on the CPU.
template <class Real>
COMPLL_BOTH Real exact_floor(Real x) {
  return or_nan(floor(x), x);
}
template <class Real>
COMPLL_BOTH Real exact_ceil(Real x) {
  return or_nan(ceil(x), x);
}
template <class Real>
COMPLL_BOTH Real exact_round(Real x) {
  return or_nan(round_even(x), x);
}
template <class Real>
COMPLL_BOTH Real exact_sqrt(Real x) {
  return or_nan(sqrt(x), x);
}

static_assert(sizeof(Shared) == whole_grid_of(1).shared_bytes);

/// An array in memory.
template <class T>
struct Array {
  const T* data;
  __device__ T operator()(uint64_t i) const { return data[i]; }
};

/// What other blocks of threads have written in this launch.
template <class T>
struct Others {
  const volatile T* data;
  __device__ T operator()(uint64_t i) const { return data[i]; }
};

/// The least number that both divide.
COMPLL_BOTH uint32_t common_multiple(uint32_t a, uint32_t b) {
  uint32_t x = a, y = b;
  while (y != 0) {
    const uint32_t rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}
COMPLL_BOTH uint64_t blocks_of(uint64_t n, uint64_t block) { return (n + block - 1) / block; }

/// An element of an array; 0 where it has none.
template <class A>
__device__ __forceinline__ auto element(uint64_t count, const A& array, uint32_t i) -> decltype(array(0)) {
  return i < count ? array(i) : decltype(array(0))();
}

/// Where things lie one behind the other.
class Places {
 public:
  COMPLL_BOTH uint64_t take(uint64_t bytes) {
    const uint64_t at = end_;
    end_ += (bytes + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
    return at;
  }
  COMPLL_BOTH uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
};

/// The words at the beginning of a segment's memory: for each launch how many tiles have begun and how many are done.
/// Behind them: whether something was infinite or NaN.
inline constexpr uint64_t kCounterBytes = (2 * kMostStages + 4) * sizeof(uint32_t);

/// What a block of threads works on: one tile of a segment.
struct Part {
  const Launch& launch;
  const Segment& segment;
  uint64_t n;
  uint32_t tile;
  uint32_t* counters;  ///< of this launch
  uint32_t* not_finite;
  Shared& shared;

  __device__ __forceinline__ static Part of(const Launch& launch, uint32_t stage) {
    const Segment& segment = segment_of_tile(launch, blockIdx.x);
    uint32_t* const words = reinterpret_cast<uint32_t*>(segment.memory);
    return {launch,
            segment,
            segment.n,
            blockIdx.x - segment.first_tile,
            words + 2 * stage,
            words + 2 * kMostStages,
            *reinterpret_cast<Shared*>(shared_memory())};
  }

  /// Numbers tiles as they begin: one can wait for those before it.
  __device__ __forceinline__ void number_in_order() {
    if (segment.tile_count == 1) return;
    if (threadIdx.x == 0) shared.sums[0] = atomicAdd(counters, 1u);
    __syncthreads();
    tile = shared.sums[0];
    __syncthreads();
  }

  /// The tile's share of so many elements; the last tile has what is behind it, too.
  __device__ uint64_t begin(uint64_t count) const { return least(uint64_t{tile} * launch.tile, count); }
  __device__ uint64_t end(uint64_t count) const {
    return tile + 1 == segment.tile_count ? count : least((uint64_t{tile} + 1) * launch.tile, count);
  }
  /// The same of blocks: a tile has whole ones.
  __device__ uint64_t begin_block(uint64_t block) const { return begin(n) / block; }
  __device__ uint64_t end_block(uint64_t block) const { return (end(n) + block - 1) / block; }
  __device__ bool is_first_thread() const { return tile == 0 && threadIdx.x == 0; }

  template <class T>
  __device__ T* at(uint64_t place) const {
    return in_global(reinterpret_cast<T*>(segment.memory + place));
  }
  __device__ const float* state_in(uint32_t index) const {
    return in_global(segment.states_in + index * segment.state_stride);
  }
  /// Where a state's new elements go: to its place, or, where they are not wanted, anywhere.
  __device__ float* state_out(uint32_t index, uint64_t otherwise) const {
    return segment.states_out == nullptr ? at<float>(otherwise)
                                         : in_global(segment.states_out + index * segment.state_stride);
  }
  /// What is encoded: where the residual will be, or the input itself, or in memory.
  __device__ bool is_input_made() const {
    return segment.residual_in != nullptr || segment.residual_out != nullptr || segment.scale != 1;
  }
  __device__ float* made_input(uint64_t otherwise) const {
    return segment.residual_out != nullptr ? in_global(segment.residual_out) : at<float>(otherwise);
  }
  __device__ const float* input(uint64_t otherwise) const {
    return is_input_made() ? made_input(otherwise) : in_global(segment.in);
  }
  __device__ RandomStream random() const { return {launch.seed, segment.gradient, launch.step, segment.first}; }

  /// Whether this is the last tile of the segment to be done: then all the others' results are there. All threads ask.
  __device__ bool is_last() const {
    __threadfence();
    __syncthreads();
    if (segment.tile_count == 1) return true;
    if (threadIdx.x == 0) shared.sums[0] = atomicAdd(counters + 1, 1u) + 1 == segment.tile_count ? 1 : 0;
    __syncthreads();
    const bool last = shared.sums[0] != 0;
    __syncthreads();
    __threadfence();
    return last;
  }

  /// Behind the last launch the memory's first bytes are zero again.
  __device__ void clear(uint64_t zeroed) const {
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < zeroed / sizeof(uint32_t); i += kThreads) at<uint32_t>(0)[i] = 0;
  }
};

/// One element after the other of the tile's share: neighbours go to neighbouring threads.
template <class Body>
__device__ __forceinline__ void for_each(const Part& part, uint64_t count, const Body& body) {
  const uint64_t end = part.end(count);
#pragma unroll 4
  for (uint64_t i = part.begin(count) + threadIdx.x; i < end; i += kThreads) body(i);
}

template <class T, class A>
__device__ __forceinline__ void fill(const Part& part, uint64_t count, const A& array, T* out) {
  for_each(part, count, [&](uint64_t i) { out[i] = array(i); });
}

/// Of what has one element for each block: those of the tile's own blocks.
template <class T, class A>
__device__ __forceinline__ void fill_blocks(const Part& part, uint64_t block, const A& array, T* out) {
  const uint64_t end = part.end_block(block);
  for (uint64_t b = part.begin_block(block) + threadIdx.x; b < end; b += kThreads) out[b] = array(b);
}

/// What is encoded: scale * in + residual. Notes whether all of it is finite.
__device__ __forceinline__ void take_input(const Part& part, uint64_t otherwise) {
  const Segment& segment = part.segment;
  const bool made = part.is_input_made();
  float* const out = part.made_input(otherwise);
  bool finite = true;
  for_each(part, part.n, [&](uint64_t i) {
    float x = in_global(segment.in)[i];
    if (segment.scale != 1) x = multiply(x, segment.scale);
    if (segment.residual_in != nullptr) x = add(x, in_global(segment.residual_in)[i]);
    finite = finite && is_finite(x);
    if (made) out[i] = x;
  });
  if (!__all_sync(kWholeWarp, finite) && threadIdx.x % kLanes == 0) atomicMax(part.not_finite, 1u);
}

template <uint32_t kNumber, uint32_t kVersion>
__device__ __forceinline__ void write_header(const Part& part) {
  if (threadIdx.x != 0) return;
  const bool finite = part.n == 0 || *static_cast<const volatile uint32_t*>(part.not_finite) == 0;
  cuda::write_header(kNumber, kVersion, part.launch.codec.log2_block, part.n, finite, part.segment.payload);
}

// Sections of a payload.

template <class T, uint32_t kBits>
struct Section {
  const unsigned char* at;
  __device__ T operator()(uint64_t i) const {
    if constexpr (kBits == 64) {
      return load_double(at, i);
    } else if constexpr (kBits == 32) {
      return same_bits<T>(load_word<uint32_t>(at + 4 * i));
    } else {
      const uint32_t shift = static_cast<uint32_t>(i * kBits % 8);
      const Packed all = load_bytes(at + i * kBits / 8, (shift + kBits + 7) / 8);
      const uint32_t code = static_cast<uint32_t>(all.low >> shift) & (0xffffffffu >> (32 - kBits));
      if constexpr (static_cast<T>(-1) < static_cast<T>(0)) {
        return with_sign<kBits>(code);
      } else {
        return static_cast<T>(code);
      }
    }
  }
};

/// Eight elements are kBits bytes: one thread's.
template <uint32_t kBits, class A>
__device__ __forceinline__ void store_section(const Part& part, uint64_t count, const A& array, unsigned char* at) {
  if constexpr (kBits >= 32) {
    for_each(part, count, [&](uint64_t i) { store_one<kBits>(array(i), at, i); });
  } else {
    const uint64_t end = part.end(count);
    for (uint64_t i = part.begin(count) + 8 * threadIdx.x; i < end; i += 8 * kThreads) {
      unsigned char* to = at + i / 8 * kBits;
      uint64_t window = 0;
      uint32_t held = 0;
      for (uint64_t k = i; k < least(i + 8, end); ++k) {
        window |= uint64_t{code_of(array(k)) & (0xffffffffu >> (32 - kBits))} << held;
        for (held += kBits; held >= 8; held -= 8, window >>= 8) *to++ = static_cast<unsigned char>(window);
      }
      if (held > 0) *to = static_cast<unsigned char>(window);
    }
  }
}
/// Of whole words for each block.
template <uint32_t kBits, class A>
__device__ __forceinline__ void store_blocks(const Part& part, uint64_t block, const A& array, unsigned char* at) {
  const uint64_t end = part.end_block(block);
  for (uint64_t b = part.begin_block(block) + threadIdx.x; b < end; b += kThreads) store_one<kBits>(array(b), at, b);
}
template <uint32_t kBits, class T>
__device__ __forceinline__ void store_scalar(const Part& part, T value, unsigned char* at) {
  if (part.is_first_thread()) store_one<kBits>(value, at, 0);
}

// What is decoded.

__device__ __forceinline__ float given(const Launch& launch, float before, float value) {
  return launch.add ? add(before, value) : launch.subtract ? subtract(before, value) : value;
}

template <class A>
__device__ __forceinline__ void give(const Part& part, const A& array) {
  float* const out = in_global(part.segment.out);
  const bool sets = !part.launch.add && !part.launch.subtract;
  for_each(part, part.n, [&](uint64_t i) { out[i] = given(part.launch, sets ? 0.0f : out[i], array(i)); });
}

/// The same for zeros with values at places, of which none is there twice: first zeros, then, in a later launch, these.
__device__ __forceinline__ void give_zeros(const Part& part) {
  if (part.launch.add || part.launch.subtract) return;
  for_each(part, part.n, [&](uint64_t i) { in_global(part.segment.out)[i] = 0; });
}
template <class P, class V>
__device__ __forceinline__ void give_at(const Part& part, uint64_t count, const P& places, const V& values) {
  float* const out = in_global(part.segment.out);
  for_each(part, count, [&](uint64_t i) {
    const uint32_t place = static_cast<uint32_t>(places(i));
    if (place < part.n) out[place] = given(part.launch, out[place], values(i));
  });
}

/// The contribution that is decoded, or null: raw elements are given at once, by the first launch.
__device__ __forceinline__ const unsigned char* decoded_payload(const Part& part, uint32_t stage) {
  if (part.launch.contribution >= part.segment.contribution_count || part.n == 0) return nullptr;
  const Contribution& from = part.segment.contributions[part.launch.contribution];
  if (from.raw == nullptr) return in_global(from.payload);
  if (stage == 0) give(part, Array<float>{in_global(from.raw)});
  return nullptr;
}

// Moving elements. Places of which none is there twice are set in any order.

template <class T, class P, class V>
__device__ __forceinline__ void set_at(const Part& part, uint64_t count, const P& places, const V& values, uint64_t size,
                                       T* out) {
  for_each(part, count, [&](uint64_t i) {
    const uint32_t place = static_cast<uint32_t>(places(i));
    if (place < size) out[place] = values(i);
  });
}
template <class T, class P, class V, class Add>
__device__ __forceinline__ void add_at(const Part& part, uint64_t count, const P& places, const V& values, uint64_t size,
                                       T* out, const Add& add) {
  for_each(part, count, [&](uint64_t i) {
    const uint32_t place = static_cast<uint32_t>(places(i));
    if (place < size) out[place] = add(out[place], values(i));
  });
}
/// Where some may be there twice the last one stays: its index, and one, is found first.
template <class P>
__device__ __forceinline__ void find_last(const Part& part, uint64_t count, const P& places, uint64_t size,
                                          uint32_t* last) {
  for_each(part, count, [&](uint64_t i) {
    const uint32_t place = static_cast<uint32_t>(places(i));
    if (place < size) atomicMax(last + place, static_cast<uint32_t>(i) + 1);
  });
}

template <class A>
__device__ __forceinline__ void histogram(const Part& part, uint64_t count, const A& array, uint64_t bins,
                                          uint32_t* out) {
  for_each(part, count, [&](uint64_t i) {
    const uint32_t bin = static_cast<uint32_t>(array(i));
    if (bin < bins) atomicAdd(out + bin, 1u);
  });
}

}  // namespace casync::compll::cuda
