// SPDX-License-Identifier: Apache-2.0
// Arrays of generated text in vector form, sixteen elements at a time: an array is something that gives its
// element i, or sixteen of them, in memory or computed where they are used. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_VECTOR_FORM_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_VECTOR_FORM_GROUPS_INL_H_
#undef COMPLL_OPS_CPU_VECTOR_FORM_GROUPS_INL_H_
#else
#define COMPLL_OPS_CPU_VECTOR_FORM_GROUPS_INL_H_
#endif

#include <bit>
#include <cstring>
#include <type_traits>

#include "compll/ops/cpu/program-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// The index of sixteen elements from `first` on, of which `rest` exist. Loops are numbered: an array that a loop puts
/// into memory is not there for that loop itself. kSample: the index in a sample, which is taken ahead of all loops.
template <int kLoop, class Rest>
struct Sixteen {
  size_t first;
  Rest rest;
};
inline constexpr int kSample = -1;

template <class T>
struct GroupType;
template <>
struct GroupType<float> {
  using Type = Float;
};
template <>
struct GroupType<double> {
  using Type = Double;
};
template <>
struct GroupType<int32_t> {
  using Type = Int;
};
template <>
struct GroupType<uint32_t> {
  using Type = Uint;
};
template <>
struct GroupType<bool> {
  using Type = Bool;
};
template <class T>
using GroupOf = typename GroupType<T>::Type;

/// A value that is the same for all elements, as one or sixteen of them.
template <class T>
HWY_INLINE T constant(size_t, T value) {
  return value;
}
template <int kLoop, class Rest, class T>
HWY_INLINE GroupOf<T> constant(Sixteen<kLoop, Rest>, T value) {
  return GroupOf<T>(value);
}

/// The elements' own numbers.
template <class T>
HWY_INLINE T index_of(size_t i) {
  return static_cast<T>(i);
}
template <class T, int kLoop, class Rest>
HWY_INLINE GroupOf<T> index_of(Sixteen<kLoop, Rest> i) {
  return index_group<GroupOf<T>>(i.first);
}

// Groups from and to memory.

HWY_INLINE Float load_whole(const float* from) { return load_floats(from); }
HWY_INLINE Double load_whole(const double* from) {
  Double group;
  for (size_t k = 0; k < kDoubleParts; ++k) group.v[k] = hn::LoadU(F64(), from + k * kDoubleLanes);
  return group;
}
HWY_INLINE Int load_whole(const int32_t* from) { return load_lanes<Int>(from); }
HWY_INLINE Uint load_whole(const uint32_t* from) { return load_lanes<Uint>(from); }
HWY_INLINE Bool load_whole(const bool* from) {
  HWY_ALIGN uint32_t each[kGroup];
  for (size_t k = 0; k < kGroup; ++k) each[k] = from[k] ? 1 : 0;
  return to_bool(load_lanes<Uint>(each));
}
HWY_INLINE void store_whole(Float group, float* to) { store_floats(group, to); }
HWY_INLINE void store_whole(Double group, double* to) {
  for (size_t k = 0; k < kDoubleParts; ++k) hn::StoreU(group.v[k], F64(), to + k * kDoubleLanes);
}
HWY_INLINE void store_whole(Int group, int32_t* to) { store_lanes(group, to); }
HWY_INLINE void store_whole(Uint group, uint32_t* to) { store_lanes(group, to); }
HWY_INLINE void store_whole(Bool group, bool* to) {
  HWY_ALIGN uint32_t each[kGroup];
  store_lanes(to_uint(group), each);
  for (size_t k = 0; k < kGroup; ++k) to[k] = each[k] != 0;
}

template <class T>
HWY_NOINLINE GroupOf<T> load_some(const T* from, size_t rest) {
  HWY_ALIGN T padded[kGroup] = {};
  std::memcpy(padded, from, rest * sizeof(T));
  return load_whole(padded);
}
template <class T>
HWY_INLINE GroupOf<T> load_group(const T* from, size_t rest) {
  return rest >= kGroup ? load_whole(from) : load_some(from, rest);
}
template <class T>
HWY_NOINLINE void store_some(GroupOf<T> group, T* to, size_t rest) {
  HWY_ALIGN T padded[kGroup];
  store_whole(group, padded);
  std::memcpy(to, padded, rest * sizeof(T));
}
template <class T>
HWY_INLINE void store_group(GroupOf<T> group, T* to, size_t rest) {
  rest >= kGroup ? store_whole(group, to) : store_some(group, to, rest);
}

// Arrays.

/// An array in memory.
template <class T>
struct Array {
  const T* data = nullptr;
  HWY_INLINE T operator()(size_t i) const { return data[i]; }
  template <int kLoop, class Rest>
  HWY_INLINE GroupOf<T> operator()(Sixteen<kLoop, Rest> i) const {
    fetch_ahead(data + i.first, kFetchFloatsAhead);
    return load_group(data + i.first, i.rest);
  }
  HWY_INLINE void fetch(size_t i) const { hwy::Prefetch(data + i); }
  HWY_INLINE void fetch_one(size_t i) const { fetch(i); }
};

/// An array in memory up to `end`; all elements from there on are `tail`. `data` has room for a group more.
template <class T>
struct Headed {
  const T* data;
  size_t end;
  T tail;
  HWY_INLINE T operator()(size_t i) const { return i < end ? data[i] : tail; }
  template <int kLoop, class Rest>
  HWY_INLINE GroupOf<T> operator()(Sixteen<kLoop, Rest> i) const {
    if (i.first + kGroup <= end) return load_whole(data + i.first);
    HWY_ALIGN T each[kGroup];
    for (size_t k = 0; k < kGroup; ++k) each[k] = (*this)(i.first + k);
    return load_whole(each);
  }
  HWY_INLINE void fetch(size_t i) const { hwy::Prefetch(data + i); }
  HWY_INLINE void fetch_one(size_t i) const { fetch(i); }
};

template <class T>
HWY_INLINE T* taken(size_t count, Workspace& memory) {
  return reinterpret_cast<T*>(memory.take(count * sizeof(T)));
}

/// The way in which a loop over n elements writes to `at`, if nobody reads it soon.
inline Write mode_of(const float* at, size_t n) {
  constexpr size_t kLeast = size_t{1} << 18;  // as residuals are written
  return n >= kLeast && reinterpret_cast<uintptr_t>(at) % 64 == 0 ? Write::kStream : Write::kPlain;
}

/// Stores sixteen elements.
template <int kLoop, class Rest>
HWY_INLINE void put(Float values, float* at, Write mode, Sixteen<kLoop, Rest> i) {
  if (mode == Write::kStream && i.rest >= kGroup) return stream_floats(values, at + i.first);
  store_group<float>(values, at + i.first, i.rest);
}

/// An array that a loop puts into memory, and reads there.
template <class T, class Source>
struct Kept {
  T* data;
  const Source& source;

  HWY_INLINE T operator()(size_t i) const { return data[i]; }
  template <int kLoop, class Rest>
  HWY_INLINE GroupOf<T> operator()(Sixteen<kLoop, Rest> i) const {
    if constexpr (kLoop == kSample) {
      return source(i);
    } else {
      return load_group(data + i.first, i.rest);
    }
  }
  /// Stores sixteen elements; its loop calls this once for each of them.
  template <int kLoop, class Rest>
  HWY_INLINE void keep(Sixteen<kLoop, Rest> i) const {
    store_group<T>(source(i), data + i.first, i.rest);
  }
};
template <class T, class Source>
HWY_INLINE Kept<T, Source> kept_in(T* data, const Source& source) {
  return {data, source};
}

/// The vector to encode: scale * values + residual. Its loop puts it into memory unless it is the values
/// themselves.
template <int kIn>
struct Gradient {
  Scaled source;
  float* sum;  ///< null if it is `source.values`
  Write mode = Write::kPlain;
  /// The last chunk of values that were made, kMadeAtOnce of them, which stay in the first-level cache; and its place.
  mutable const float* made = nullptr;
  mutable size_t made_first = 0;
  static constexpr size_t kMadeAtOnce = 4096;

  HWY_INLINE const float* whole() const { return sum == nullptr ? source.values : sum; }
  HWY_INLINE float operator()(size_t i) const { return whole()[i]; }
  /// Prefetches the memory that operator()(i) reads, and that the loop reads.
  HWY_INLINE void fetch_one(size_t i) const { hwy::Prefetch(whole() + i); }
  HWY_INLINE void fetch(size_t i) const {
    if (source.made == nullptr) hwy::Prefetch(source.values + i);
    if (source.residual != nullptr) hwy::Prefetch(source.residual + i);
  }
  template <int kLoop, class Rest>
  HWY_INLINE Float operator()(Sixteen<kLoop, Rest> i) const {
    if constexpr (kLoop != kSample && kLoop != kIn) {
      fetch_ahead(whole() + i.first, kFetchFloatsAhead);
      return load_group(whole() + i.first, i.rest);
    } else {
      if (kLoop == kIn && source.made != nullptr && !is_made(i.first)) [[unlikely]] {
        return load_group(sum + i.first, i.rest);
      }
      Float values = load_group(values_at(i), i.rest);
      if (source.scale != 1) values = values * Float(source.scale);
      if (source.residual != nullptr) values = values + load_group(source.residual + i.first, i.rest);
      return values;
    }
  }
  template <class Rest>
  HWY_INLINE void keep(Sixteen<kIn, Rest> i) const {
    if (source.made == nullptr) {
      fetch_ahead(source.values + i.first, kFetchFloatsAhead);
    } else if (i.first % kMadeAtOnce == 0) {
      made = source.made->make(i.first, kMadeAtOnce);
      made_first = i.first;
    }
    if (source.residual != nullptr) fetch_ahead(source.residual + i.first, kFetchFloatsAhead);
    if (sum != nullptr) put((*this)(i), sum, mode, i);
  }

 private:
  /// Returns true if sixteen values from there on are in the chunk that was made last. A tile that is no part of one
  /// chunk has them in `sum`, where the tile's first loop has put them.
  HWY_INLINE bool is_made(size_t first) const {
    return first >= made_first && first + kGroup <= made_first + kMadeAtOnce;
  }
  template <int kLoop, class Rest>
  HWY_INLINE const float* values_at(Sixteen<kLoop, Rest> i) const {
    if (source.made == nullptr) return source.values + i.first;
    if constexpr (kLoop == kSample) return source.made->make(i.first, kGroup);
    return made + (i.first - made_first);
  }
};

/// One element of each block, for all elements of the block.
template <class T, class A>
struct Spread {
  const A& array;
  size_t block;
  int shift = std::has_single_bit(block) ? std::countr_zero(block) : -1;

  HWY_INLINE size_t block_of(size_t i) const { return shift >= 0 ? i >> shift : i / block; }
  HWY_INLINE T operator()(size_t i) const { return array(block_of(i)); }
  template <int kLoop, class Rest>
  HWY_INLINE GroupOf<T> operator()(Sixteen<kLoop, Rest> i) const {
    if (block % kGroup == 0 && i.first % kGroup == 0) return GroupOf<T>(array(block_of(i.first)));
    HWY_ALIGN T each[kGroup] = {};
    for (size_t k = 0; k < i.rest; ++k) each[k] = array(block_of(i.first + k));
    return load_whole(each);
  }
};

/// An array without instructions for sixteen: computes one element after the other.
template <class T, class A>
struct OneByOne {
  A array;
  HWY_INLINE T operator()(size_t i) const { return array(i); }
  template <int kLoop, class Rest>
  HWY_INLINE GroupOf<T> operator()(Sixteen<kLoop, Rest> i) const {
    HWY_ALIGN T each[kGroup] = {};
    for (size_t k = 0; k < i.rest; ++k) each[k] = array(i.first + k);
    return load_whole(each);
  }
};
template <class T, class A>
HWY_INLINE OneByOne<T, A> one_by_one(const A& array) {
  return {array};
}

/// The results of a function that has several.
template <class First, class... Others>
struct Row {
  First first;
  Row<Others...> others;
};
template <class First>
struct Row<First> {
  First first;
};
template <class First, class... Others>
HWY_INLINE Row<First, Others...> row(First first, Others... others) {
  if constexpr (sizeof...(Others) == 0) {
    return {first};
  } else {
    return {first, row(others...)};
  }
}
template <size_t kIndex, class R>
HWY_INLINE auto part(const R& from) {
  if constexpr (kIndex == 0) {
    return from.first;
  } else {
    return part<kIndex - 1>(from.others);
  }
}

/// Returns an element of an array; 0 if it has none.
template <class A>
HWY_INLINE auto element(size_t count, const A& array, uint32_t i) -> decltype(array(size_t{0})) {
  return i < count ? array(size_t{i}) : decltype(array(size_t{0})){};
}
/// Returns elements of an array at sixteen places; 0 where it has none.
template <class A, class Places>
HWY_INLINE auto elements_at(size_t count, const A& array, Places places) {
  using T = decltype(array(size_t{0}));
  HWY_ALIGN uint32_t at[kGroup];
  HWY_ALIGN T each[kGroup];
  store_lanes(places, at);
  for (size_t k = 0; k < kGroup; ++k) each[k] = at[k] < count ? array(size_t{at[k]}) : T{};
  return load_whole(each);
}
template <class A>
HWY_INLINE auto element(size_t count, const A& array, Uint i) {
  return elements_at(count, array, i);
}

// Functions of sixteen elements for a single one.
HWY_INLINE int32_t as_int(uint32_t a) { return static_cast<int32_t>(a); }
HWY_INLINE uint32_t as_uint(int32_t a) { return static_cast<uint32_t>(a); }
template <int kBits>
HWY_INLINE uint32_t shift_left(uint32_t a) {
  return a << kBits;
}
template <int kBits>
HWY_INLINE int32_t shift_left(int32_t a) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) << kBits);
}
template <int kBits>
HWY_INLINE uint32_t shift_right(uint32_t a) {
  return a >> kBits;
}
template <int kBits>
HWY_INLINE int32_t shift_right(int32_t a) {
  return a >> kBits;
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
