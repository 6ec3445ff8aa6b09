// SPDX-License-Identifier: Apache-2.0
// Arrays, sections and reductions of text that is generated for whole vectors: an array is something that gives its
// element i, in memory or computed where it is used, and operators go through arrays element by element. The loops are
// plain; the compiler makes vectors of them. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_WHOLE_ARRAYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_WHOLE_ARRAYS_INL_H_
#undef COMPLL_OPS_CPU_WHOLE_ARRAYS_INL_H_
#else
#define COMPLL_OPS_CPU_WHOLE_ARRAYS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "compll/ops/generated.h"
#include "compll/ops/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// An array in memory.
template <class T>
struct Array {
  const T* data = nullptr;
  HWY_INLINE T operator()(size_t i) const { return data[i]; }
};

/// An element of an array; 0 where it has none.
template <class A>
HWY_INLINE auto element(size_t count, const A& array, uint32_t i) -> decltype(array(0)) {
  return i < count ? array(i) : decltype(array(0)){};
}

template <class T>
HWY_INLINE T* taken(size_t count, Workspace& memory) {
  return reinterpret_cast<T*>(memory.take(count * sizeof(T)));
}

/// Where a state's new elements go: to its place, or, where they are not wanted, anywhere.
inline float* state_memory(size_t n, const GeneratedStates& states, size_t index, Workspace& memory) {
  return states.out != nullptr ? states.out + index * states.stride : taken<float>(n, memory);
}

template <class T, class A>
HWY_INLINE void fill(size_t count, const A& array, T* out) {
  for (size_t i = 0; i < count; ++i) out[i] = array(i);
}

template <class T, class A>
HWY_INLINE Array<T> kept(size_t count, const A& array, Workspace& memory) {
  T* out = taken<T>(count, memory);
  fill(count, array, out);
  return {out};
}

// Sections of a payload: the lowest bits of a byte first, no gaps between elements.

template <class T, int kBits>
struct Section {
  const std::byte* at = nullptr;
  HWY_INLINE T operator()(size_t i) const {
    if constexpr (kBits == 32 || kBits == 64) {
      T value;
      std::memcpy(&value, at + i * sizeof(T), sizeof(T));
      return value;
    } else {
      uint64_t window = 0;
      const size_t first = i * kBits / 8, bytes = (i * kBits % 8 + kBits + 7) / 8;
      for (size_t b = 0; b < bytes; ++b) window |= std::to_integer<uint64_t>(at[first + b]) << (8 * b);
      const auto bits = static_cast<uint32_t>(window >> (i * kBits % 8)) << (32 - kBits);
      return static_cast<T>(std::is_signed_v<T> ? static_cast<T>(static_cast<int32_t>(bits) >> (32 - kBits))
                                                : static_cast<T>(bits >> (32 - kBits)));
    }
  }
};

template <int kBits, class A>
HWY_INLINE void store_section(size_t count, const A& array, std::byte* at) {
  using T = decltype(array(0));
  if constexpr (kBits == 32 || kBits == 64) {
    for (size_t i = 0; i < count; ++i) {
      const T value = array(i);
      std::memcpy(at + i * sizeof(T), &value, sizeof(T));
    }
  } else {
    uint64_t window = 0;
    int held = 0;
    size_t i = 0;
    if constexpr (kBits <= 8) {  // eight elements are kBits bytes
      for (; i + 8 <= count; i += 8, at += kBits) {
        uint64_t group = 0;
        for (size_t k = 0; k < 8; ++k) {
          group |= static_cast<uint64_t>(static_cast<uint32_t>(array(i + k)) & ((1u << kBits) - 1)) << (k * kBits);
        }
        std::memcpy(at, &group, kBits);
      }
    }
    for (; i < count; ++i) {
      window |= static_cast<uint64_t>(static_cast<uint32_t>(array(i)) & ((1u << kBits) - 1)) << held;
      for (held += kBits; held >= 8; held -= 8, window >>= 8) *at++ = static_cast<std::byte>(window);
    }
    if (held > 0) *at = static_cast<std::byte>(window);
  }
}

// Reductions, in the order that the language fixes: sixteen lanes over a chunk, combined in halves, and the chunks'
// results like elements.

inline constexpr size_t kSumLanes = 16;
inline constexpr size_t kSumChunk = 4096;

/// reduce(count, array) of each chunk, then of their results, then of theirs: of all that has fewer than 2^36 elements.
template <class A, class Reduce>
HWY_INLINE auto in_chunks(size_t count, const A& array, const Reduce& reduce) {
  if (count <= kSumChunk) return reduce(count, array);
  const auto chunk = [&](size_t c) HWY_ATTR {
    return reduce(std::min(kSumChunk, count - c * kSumChunk),
                  [&](size_t i) HWY_ATTR { return array(c * kSumChunk + i); });
  };
  const size_t chunks = (count + kSumChunk - 1) / kSumChunk;
  const auto of_chunks = [&](size_t c) HWY_ATTR {
    return reduce(std::min(kSumChunk, chunks - c * kSumChunk),
                  [&](size_t i) HWY_ATTR { return chunk(c * kSumChunk + i); });
  };
  return reduce((chunks + kSumChunk - 1) / kSumChunk, of_chunks);
}

template <class T, class A, class Combine>
HWY_INLINE T chunk_in_lanes(size_t count, const A& array, T identity, const Combine& combine) {
  T lanes[kSumLanes];
  std::fill(lanes, lanes + kSumLanes, identity);
  size_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    for (size_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] = combine(lanes[lane], static_cast<T>(array(i + lane)));
  }
  for (size_t lane = 0; i + lane < count; ++lane) lanes[lane] = combine(lanes[lane], static_cast<T>(array(i + lane)));
  for (size_t half = kSumLanes / 2; half != 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] = combine(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

template <class T, class A, class Combine>
HWY_INLINE T in_lanes(size_t count, const A& array, T identity, const Combine& combine) {
  return in_chunks(count, array, [&](size_t size, const auto& chunk) HWY_ATTR {
    return chunk_in_lanes<T>(size, chunk, identity, combine);
  });
}

template <class A>
HWY_INLINE double sum(size_t count, const A& array) {
  return in_lanes<double>(count, array, 0.0, [](double a, double b) HWY_ATTR { return a + b; });
}
template <class T, class A>
HWY_INLINE T integer_sum(size_t count, const A& array) {
  uint32_t all = 0;
  for (size_t i = 0; i < count; ++i) all += static_cast<uint32_t>(array(i));
  return static_cast<T>(all);
}
template <class T, class A>
HWY_INLINE T least(size_t count, const A& array, T identity) {
  return in_lanes<T>(count, array, identity, [](T a, T b) HWY_ATTR { return min(a, b); });
}
template <class T, class A>
HWY_INLINE T greatest(size_t count, const A& array, T identity) {
  return in_lanes<T>(count, array, identity, [](T a, T b) HWY_ATTR { return max(a, b); });
}
template <class A>
HWY_INLINE float magnitude(size_t count, const A& array) {
  uint32_t top = 0;
  for (size_t i = 0; i < count; ++i) top = std::max(top, bits(array(i)) & 0x7fffffff);
  return from_bits(top);
}
template <class A>
HWY_INLINE uint32_t count_of(size_t count, const A& array) {
  uint32_t found = 0;
  for (size_t i = 0; i < count; ++i) found += array(i) != 0;
  return found;
}
/// By the user's function: lanes begin with their first element, those without one are left out.
template <class T, class A, class Combine>
HWY_INLINE T folded(size_t count, const A& array, T initial, const Combine& combine) {
  if (count == 0) return initial;
  const T all = in_chunks(count, array, [&](size_t size, const auto& chunk) HWY_ATTR {
    T lanes[kSumLanes];
    const size_t used = std::min(size, kSumLanes);
    for (size_t i = 0; i < used; ++i) lanes[i] = chunk(i);
    for (size_t i = used; i < size; ++i) lanes[i % kSumLanes] = combine(lanes[i % kSumLanes], chunk(i));
    for (size_t half = kSumLanes / 2; half != 0; half /= 2) {
      for (size_t lane = 0; lane < half && lane + half < used; ++lane)
        lanes[lane] = combine(lanes[lane], lanes[lane + half]);
    }
    return lanes[0];
  });
  return combine(initial, all);
}

/// reduce(count, array) of each block.
template <class T, class A, class Reduce>
HWY_INLINE Array<T> of_blocks(size_t n, size_t block, const A& array, Workspace& memory, const Reduce& reduce) {
  T* out = taken<T>((n + block - 1) / block, memory);
  for (size_t first = 0, b = 0; first < n; first += block, ++b) {
    out[b] = reduce(std::min(block, n - first), [&](size_t i) HWY_ATTR { return array(first + i); });
  }
  return {out};
}

/// One value for each block, for each of its elements.
template <class T, class A>
HWY_INLINE Array<T> spread(size_t n, size_t block, const A& array, Workspace& memory) {
  T* out = taken<T>(n, memory);
  for (size_t first = 0, b = 0; first < n; first += block, ++b)
    std::fill(out + first, out + std::min(n, first + block), array(b));
  return {out};
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
