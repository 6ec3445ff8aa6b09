// SPDX-License-Identifier: Apache-2.0
// Sections, loops and reductions of generated text in vector form. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_VECTOR_FORM_ARRAYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_VECTOR_FORM_ARRAYS_INL_H_
#undef COMPLL_OPS_CPU_VECTOR_FORM_ARRAYS_INL_H_
#else
#define COMPLL_OPS_CPU_VECTOR_FORM_ARRAYS_INL_H_
#endif

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <numeric>

#include "compll/ops/cpu/vector_form_groups-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// The memory of a state's new elements: the state's own, or any if the caller does not want them.
inline float* state_memory(size_t n, const GeneratedStates& states, size_t index, Workspace& memory) {
  return states.out != nullptr ? states.out + index * states.stride : taken<float>(n, memory);
}

/// Runs a loop of its own, over an array that is in memory or computed where it is used.
template <class Body>
HWY_INLINE void for_sixteens(size_t count, const Body& body) {
  for_groups(0, count, [&](size_t first, auto rest) COMPLL_INLINE { body(Sixteen<0, decltype(rest)>{first, rest}); });
}

template <class T, class A>
HWY_INLINE void fill(size_t count, const A& array, T* out) {
  for_sixteens(count, [&](auto i) COMPLL_INLINE { store_group<T>(array(i), out + i.first, i.rest); });
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
    } else if constexpr (std::is_same_v<T, int32_t>) {
      return load_one_int<kBits>(at, i);
    } else {
      return static_cast<T>(load_one_uint<kBits>(at, i));
    }
  }
  template <int kLoop, class Rest>
  HWY_INLINE GroupOf<T> operator()(Sixteen<kLoop, Rest> i) const {
    if constexpr (kBits == 64) {
      HWY_ALIGN T each[kGroup] = {};
      std::memcpy(each, at + i.first * sizeof(T), i.rest * sizeof(T));
      return load_whole(each);
    } else {
      if (kBits % 8 != 0 && i.first % 8 != 0) return one_by_one<T>(*this)(i);
      if constexpr (std::is_same_v<T, float>) return load_float(at, i.first, i.rest);
      if constexpr (std::is_same_v<T, int32_t>) return load_int<kBits>(at, i.first, i.rest);
      if constexpr (std::is_same_v<T, uint32_t>) return load_uint<kBits>(at, i.first, i.rest);
      if constexpr (std::is_same_v<T, bool>) return to_bool(load_uint<kBits>(at, i.first, i.rest));
    }
  }
};

/// Stores sixteen elements of a section.
template <int kBits, class Codes, int kLoop, class Rest>
HWY_INLINE void store_codes_at(Codes codes, std::byte* at, Sixteen<kLoop, Rest> i) {
  if constexpr (kBits == 64) {
    HWY_ALIGN double each[kGroup];
    store_whole(codes, each);
    std::memcpy(at + i.first * sizeof(double), each, i.rest * sizeof(double));
  } else {
    fetch_section<kBits>(at, i.first);
    store_section<kBits>(codes, at, i.first, i.rest);
  }
}
template <int kBits, class A>
HWY_INLINE void store_all(size_t count, const A& array, std::byte* at) {
  for_sixteens(count, [&](auto i) COMPLL_INLINE { store_codes_at<kBits>(array(i), at, i); });
}

/// Stores a section of Over::kSized. Of the tail of an array it stores one entry, if the caller takes that.
template <int kBits, class A>
HWY_INLINE void store_sized(size_t count, const A& array, const GeneratedVector&, uint32_t section,
                            std::byte* const* sections) {
  store_all<kBits>(count, array, sections[section]);
}
template <int kBits, class T>
HWY_INLINE void store_sized(size_t count, const Headed<T>& array, const GeneratedVector& v, uint32_t section,
                            std::byte* const* sections) {
  const bool is_cut = kBits % 8 == 0 && v.stored != nullptr && array.end < count;
  if (is_cut) v.stored[section] = array.end + 1;
  store_all<kBits>(is_cut ? array.end + 1 : count, array, sections[section]);
}

// Loops over blocks.

/// Elements of a tile, in loops that wait for blocks of these sizes, of at most 2^16 elements: whole blocks of all, or
/// more than a vector has.
constexpr size_t tile_of(std::initializer_list<size_t> blocks) {
  constexpr size_t kLeast = 4096;            // with the other arrays read, a tile stays in the first-level cache
  constexpr size_t kMost = size_t{1} << 33;  // vectors have half as many
  size_t tile = kGroup;
  for (const size_t block : blocks) tile = std::min(std::lcm(tile, block), kMost);
  if (tile == kMost) return kMost;
  return tile * std::max<size_t>(1, kLeast / tile);
}

/// Calls body(block, its first element, its end) for the blocks of a tile.
template <class Body>
HWY_INLINE void for_blocks(size_t begin, size_t end, size_t block, const Body& body) {
  for (size_t first = begin, b = begin / block; first < end; first += block, ++b) {
    body(b, first, std::min(first + block, end));
  }
}

/// Takes the next sixteen elements of a reduction whose order can be seen.
template <class Reducer, class Group, class Index>
HWY_INLINE void take_in_order(Reducer& open, Chunks<Reducer>& chunks, Group values, Index i) {
  open.take(values, i.rest);
  if (ends_chunk(i.first, i.rest)) [[unlikely]] {
    chunks.take(open.result());
    open = Reducer();
  }
}

/// Reduces a block's elements, in loop kLoop.
template <class Reducer, int kLoop, class A>
HWY_INLINE Reducer reduced_part(size_t first, size_t last, const A& array) {
  Reducer open;
  for_groups(first, last, [&](size_t i, auto rest) COMPLL_INLINE {
    open.take(array(Sixteen<kLoop, decltype(rest)>{i, rest}), rest);
  });
  return open;
}
template <class Reducer, int kLoop, class A>
HWY_INLINE auto reduced(size_t first, size_t last, const A& array) {
  if constexpr (requires { typename Reducer::Element; }) {
    if (last - first > kChunk) {
      Chunks<Reducer> chunks;
      for (; last - first > kChunk; first += kChunk) {
        chunks.take(reduced_part<Reducer, kLoop>(first, first + kChunk, array).result());
      }
      return chunks.result(reduced_part<Reducer, kLoop>(first, last, array));
    }
  }
  return reduced_part<Reducer, kLoop>(first, last, array).result();
}

// Reductions, in the order that the language fixes: sixteen lanes over a chunk, combined in halves, and the chunks'
// results like elements.

inline constexpr size_t kSumLanes = 16;
inline constexpr size_t kSumChunk = 4096;

/// Calls reduce(count, array) for each chunk, then for the results, then for theirs: for fewer than 2^36 elements.
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
/// Zeros have no sign here.
template <class T, class A>
HWY_INLINE T least(size_t count, const A& array, T identity) {
  return in_lanes<T>(count, array, identity, [](T a, T b) HWY_ATTR { return min(a, b); }) + 0;
}
template <class T, class A>
HWY_INLINE T greatest(size_t count, const A& array, T identity) {
  return in_lanes<T>(count, array, identity, [](T a, T b) HWY_ATTR { return max(a, b); }) + 0;
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
/// Reduces by the user's function: lanes begin with their first element, lanes without one are left out.
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

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
