// SPDX-License-Identifier: Apache-2.0
//
// The part that kernels in vector form share: selection, states, rotation. A program's function is cut into stages:
// elements of other tiles that a stage reads were written in an earlier one. An array is an object that returns its
// element i, from memory or computed where it is used. Nothing is contracted: compile with -fmad=false.
#pragma once

#include "compll/ops/cuda/vector_form_loops.cuh"

namespace casync::compll::cuda {

// Functions that return the NaN of the operand, as on the CPU.
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

/// An array in memory.
template <class T>
struct Array {
  const T* data;
  __device__ T operator()(uint64_t i) const { return data[i]; }
};

/// An array that other blocks of threads have written in this launch.
template <class T>
struct Others {
  const volatile T* data;
  __device__ T operator()(uint64_t i) const { return data[i]; }
};

/// The most elements that tiles have for the sake of whole blocks: four times as many fit in 32 bits.
inline constexpr uint32_t kMostTileElements = 1u << 29;

/// The least number that both divide; 0 if it is above kMostTileElements, or one of them is 0.
COMPLL_BOTH uint32_t common_multiple(uint32_t a, uint32_t b) {
  uint32_t x = a, y = b;
  while (y != 0) {
    const uint32_t rest = x % y;
    x = y;
    y = rest;
  }
  const uint64_t multiple = x == 0 ? 0 : uint64_t{a / x} * b;
  return multiple <= kMostTileElements ? static_cast<uint32_t>(multiple) : 0;
}
COMPLL_BOTH uint64_t blocks_of(uint64_t n, uint64_t block) { return (n + block - 1) / block; }
/// Returns the number of tiles; an empty vector has one, too: see place_vector_form_tiles.
COMPLL_BOTH uint64_t tiles_for(uint64_t n, uint64_t tile) { return n == 0 ? 1 : blocks_of(n, tile); }

/// Returns an element of an array; 0 if it has none.
template <class A>
__device__ __forceinline__ auto element(uint64_t count, const A& array, uint32_t i) -> decltype(array(0)) {
  return i < count ? array(i) : decltype(array(0))();
}

/// Stores the elements of the tile's own blocks, in an array of one for each block.
template <class T, class A>
__device__ __forceinline__ void fill_blocks(const Part& part, uint64_t block, const A& array, T* out) {
  const uint64_t end = part.end_block(block);
  for (uint64_t b = part.begin_block(block) + threadIdx.x; b < end; b += kThreads) out[b] = array(b);
}

template <uint32_t kNumber, uint32_t kVersion>
__device__ __forceinline__ void write_header(const Part& part) {
  if (threadIdx.x != 0) return;
  const bool finite = part.n == 0 || *static_cast<const volatile uint32_t*>(&part.control->not_finite) == 0;
  cuda::write_header(kNumber, kVersion, part.launch.codec, part.n, finite, part.segment.payload);
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

template <class T>
struct Section<T, kTrits> {
  const unsigned char* at;
  __device__ T operator()(uint64_t i) const { return load_trit(at, i); }
};

/// Stores trits: five elements are a byte, which one thread writes. A tile has whole ones.
template <class A>
__device__ __forceinline__ void store_trits(const Part& part, uint64_t count, const A& array, unsigned char* at) {
  const uint64_t end = part.end(count);
  for (uint64_t i = part.begin(count) + 5 * threadIdx.x; i < end; i += 5 * kThreads) {
    uint32_t byte = 0;
    for (uint64_t k = least(i + 5, end); k-- > i;) byte = with_trit(byte, array(k));
    at[i / 5] = static_cast<unsigned char>(byte);
  }
}

/// Stores a section: eight elements are kBits bytes, which one thread writes.
template <uint32_t kBits, class A>
__device__ __forceinline__ void store_section(const Part& part, uint64_t count, const A& array, unsigned char* at) {
  if constexpr (kBits == kTrits) {
    store_trits(part, count, array, at);
  } else if constexpr (kBits >= 32) {
    for_each(part, count, array, [&](uint64_t i, const auto& value) { store_one<kBits>(value, at, i); });
  } else {
    const uint64_t end = part.end(count);
    const auto code = [&](uint64_t i) { return uint64_t{code_of(array(i)) & (0xffffffffu >> (32 - kBits))}; };
#pragma unroll 1
    for (uint64_t i = part.begin(count) + 8 * threadIdx.x; i < end; i += 8 * kThreads) {
      unsigned char* to = at + i / 8 * kBits;
      uint64_t window = 0;
      if (kBits <= 8 && end - i >= 8) {
#pragma unroll
        for (uint32_t k = 0; k < 8; ++k) window |= code(i + k) << k * kBits % 64;
        if constexpr (kBits == 8) store_word(to, window);
        if constexpr (kBits == 4) store_word(to, static_cast<uint32_t>(window));
        if constexpr (kBits == 2) store_word(to, static_cast<unsigned short>(window));
        if constexpr (kBits == 1 || kBits == 3 || kBits > 4) {
#pragma unroll
          for (uint32_t b = 0; b < kBits && kBits != 8; ++b) to[b] = static_cast<unsigned char>(window >> 8 * b % 64);
        }
        continue;
      }
      uint32_t held = 0;
#pragma unroll 1
      for (uint64_t k = i; k < least(i + 8, end); ++k) {
        window |= code(k) << held;
        for (held += kBits; held >= 8; held -= 8, window >>= 8) *to++ = static_cast<unsigned char>(window);
      }
      if (held > 0) *to = static_cast<unsigned char>(window);
    }
  }
}
/// Stores a section of whole words, one for each block.
template <uint32_t kBits, class A>
__device__ __forceinline__ void store_blocks(const Part& part, uint64_t block, const A& array, unsigned char* at) {
  const uint64_t end = part.end_block(block);
  for (uint64_t b = part.begin_block(block) + threadIdx.x; b < end; b += kThreads) store_one<kBits>(array(b), at, b);
}
template <uint32_t kBits, class T>
__device__ __forceinline__ void store_scalar(const Part& part, T value, unsigned char* at) {
  if (!part.is_first_thread()) return;
  if constexpr (kBits == kTrits) {
    *at = static_cast<unsigned char>(with_trit(0, value));
  } else {
    store_one<kBits>(value, at, 0);
  }
}

// Decoding.

__device__ __forceinline__ float given(const Part& part, float before, float value) {
  return part.adds ? add(before, value) : part.launch.subtract ? subtract(before, value) : value;
}

/// Loads elements of an array ahead of using any of them.
template <class A>
__device__ __forceinline__ void take_some(float (&x)[kAhead], const A& array, uint64_t i) {
#pragma unroll
  for (uint32_t k = 0; k < kAhead; ++k) x[k] = array(i + k * kThreads);
}
__device__ __forceinline__ void take_some(float (&x)[kAhead], const Elements& array, uint64_t i) {
  array.some<Exact>(x, i, kThreads);
}

/// Gives elements that the tile itself has, rounded to the type of `out`.
template <class A>
__device__ __forceinline__ void give(const Part& part, const A& array) {
  const Results out = part.out();
  const bool changes = part.adds || part.launch.subtract;
  const uint64_t end = part.end(part.n);
  uint64_t i = part.begin(part.n) + threadIdx.x;
#pragma unroll 1
  for (; i + (kAhead - 1) * kThreads < end; i += kAhead * kThreads) {
    float x[kAhead];
    take_some(x, array, i);
    if (changes) {
      float before[kAhead];
      out.some<Exact>(before, i, kThreads);
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) x[k] = given(part, before[k], x[k]);
    }
    out.store_some(x, i, kThreads);
  }
#pragma unroll 1
  for (; i < end; i += kThreads) out[i] = changes ? given(part, out[i], array(i)) : array(i);
}

/// Gives zeros, to be followed a stage later by values at places, of which none occurs twice.
__device__ __forceinline__ void give_zeros(const Part& part) {
  if (part.adds || part.launch.subtract) return;
  give(part, [](uint64_t) { return 0.0f; });
}

/// Changes elements at places, of which none occurs twice, by the values of the same indices.
template <class T, class P, class V, class Out, class Change>
__device__ __forceinline__ void change_at(const Part& part, uint64_t count, const P& places, const V& values,
                                          uint64_t size, const Out& out, const Change& change) {
  const uint64_t end = part.end(count);
#pragma unroll 1
  for (uint64_t first = part.begin(count) + threadIdx.x; first < end; first += kAhead * kThreads) {
    uint32_t place[kAhead];
    T value[kAhead], before[kAhead];
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) {
      const uint64_t i = least(first + k * kThreads, end - 1);
      place[k] = static_cast<uint32_t>(places(i));
      value[k] = values(i);
    }
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) before[k] = place[k] < size ? out[place[k]] : T(0);
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) {
      if (first + k * kThreads < end && place[k] < size) out[place[k]] = change(before[k], value[k]);
    }
  }
}
template <class P, class V>
__device__ __forceinline__ void give_at(const Part& part, uint64_t count, const P& places, const V& values) {
  change_at<float>(part, count, places, values, part.n, part.out(),
                   [&](float before, float value) { return given(part, before, value); });
}

// Moving elements. Places of which none occurs twice are set in any order.

template <class T, class P, class V>
__device__ __forceinline__ void set_at(const Part& part, uint64_t count, const P& places, const V& values, uint64_t size,
                                       T* out) {
  change_at<T>(part, count, places, values, size, out, [](T, T value) { return value; });
}
template <class T, class P, class V, class Add>
__device__ __forceinline__ void add_at(const Part& part, uint64_t count, const P& places, const V& values, uint64_t size,
                                       T* out, const Add& add) {
  change_at<T>(part, count, places, values, size, out, add);
}
/// Finds the last index of places that may occur twice: stores that index plus one.
template <class P>
__device__ __forceinline__ void find_last(const Part& part, uint64_t count, const P& places, uint64_t size,
                                          uint32_t* last) {
  for_each(part, count, [&](uint64_t i) { return static_cast<uint32_t>(places(i)); },
           [&](uint64_t i, uint32_t place) {
             if (place < size) atomicMax(last + place, static_cast<uint32_t>(i) + 1);
           });
}

template <class A>
__device__ __forceinline__ void histogram(const Part& part, uint64_t count, const A& array, uint64_t bins,
                                          uint32_t* out) {
  for_each(part, count, [&](uint64_t i) { return static_cast<uint32_t>(array(i)); },
           [&](uint64_t, uint32_t bin) {
             if (bin < bins) atomicAdd(out + bin, 1u);
           });
}

// Kernels.

/// Encodes, by the stages of a function.
template <class Function>
__device__ __forceinline__ void encode_by_stages(const Launch& launch) {
  run_stages<typename Function::Geometry>(launch, Function::kStages, [](Part& part) {
    if (part.n == 0 && part.stage == 0) write_header<Function::kNumber, Function::kVersion>(part);
    if (part.n == 0) return;
    part.wait();
    Function::stage(part.stage, part);
  });
}

/// Computes the gradient from the decoded vector.
template <class Function>
__device__ __forceinline__ void result_by_stages(const Launch& launch) {
  run_stages<typename Function::Geometry>(launch, Function::kStages, [](Part& part) {
    if (part.n == 0) return;
    part.wait();
    Function::stage(part.stage, part);
  });
}

/// Decodes one contribution after the other, and rounds each sum to the type of `out`. Raw elements are one stage: later
/// contributions wait for it.
template <class Function>
__device__ __forceinline__ void decode_by_stages(const Launch& launch) {
  run_stages<typename Function::Geometry>(launch, launch.contributions * Function::kStages, [](Part& part) {
    const uint32_t contribution = part.stage / Function::kStages, stage = part.stage % Function::kStages;
    const uint32_t contributions = least(part.segment.contribution_count, part.launch.contributions);
    if (contribution >= contributions || part.n == 0) return;
    const Contribution& from = part.segment.contributions[contribution];
    const bool is_raw = from.raw != nullptr;
    if (is_raw && stage != 0) return;
    part.stages = contributions * Function::kStages;
    part.adds = part.launch.add || (contribution != 0 && !part.launch.subtract);
    part.wait();
    if (!is_raw) return Function::stage(stage, part, in_global(from.payload));
    give(part, Elements(from.raw, from.raw_type));
    if (part.is_last()) part.end_stage(Function::kStages);
  });
}

}  // namespace casync::compll::cuda
