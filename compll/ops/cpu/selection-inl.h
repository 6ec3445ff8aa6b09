// SPDX-License-Identifier: Apache-2.0
// Operators of text in vector form that pick and move elements. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_SELECTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_SELECTION_INL_H_
#undef COMPLL_OPS_CPU_SELECTION_INL_H_
#else
#define COMPLL_OPS_CPU_SELECTION_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "compll/ops/cpu/hadamard-inl.h"
#include "compll/ops/cpu/vector_form_arrays-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

// Picking elements.

/// The key that `largest` and `kth_largest` compare: 0 if the element is not above zero.
HWY_INLINE uint32_t key_of(uint32_t x) { return x; }
HWY_INLINE uint32_t key_of(int32_t x) { return x > 0 ? static_cast<uint32_t>(x) : 0; }
HWY_INLINE uint32_t key_of(float x) { return key_of(static_cast<int32_t>(bits(x))); }

inline constexpr uint32_t kNoPlace = 0xffffffff;

HWY_INLINE Uint key_of(Uint x) { return x; }
HWY_INLINE Uint key_of(Int x) { return as_uint(max(x, Int(0))); }
HWY_INLINE Uint key_of(Float x) { return key_of(as_int(bits(x))); }

/// Stores the lanes that hold side by side, and overwrites up to a vector after them. Returns their number.
HWY_INLINE size_t store_those(VecU values, hn::Mask<U32> holds, uint32_t* to) {
  hn::StoreU(hn::Compress(values, holds), U32(), to);
  return hn::CountTrue(U32(), holds);
}
HWY_INLINE hn::Mask<U32> at_least(VecU values, uint32_t least) {
  return hn::Eq(hn::Max(values, hn::Set(U32(), least)), values);
}
/// Loads the lanes from `i` on of `count` keys; 0 after them. The array has room for a whole vector.
HWY_INLINE VecU load_keys(const uint32_t* keys, size_t i, size_t count) {
  const VecU values = hn::LoadU(U32(), keys + i);
  return count - i >= kLanes ? values : hn::IfThenElseZero(hn::FirstN(U32(), count - i), values);
}

/// Returns the number of keys that are at least `least`, which is not 0.
inline size_t count_from(const uint32_t* keys, size_t count, uint32_t least) {
  size_t found = 0;
  for (size_t i = 0; i < count; i += kLanes) found += hn::CountTrue(U32(), at_least(load_keys(keys, i, count), least));
  return found;
}

/// Returns the k-th largest of `count` keys above zero, 1 <= k <= count, by bisection. Drops keys that are out of the
/// question now and then. `keys` and `spare` have room for a vector more.
inline uint32_t kth_largest(const uint32_t* keys, size_t count, size_t k, uint32_t* spare) {
  uint32_t least = 0, most = 0;  // it is above `least`, and not above `most`
  VecU top = hn::Zero(U32());
  for (size_t i = 0; i < count; i += kLanes) top = hn::Max(top, load_keys(keys, i, count));
  HWY_ALIGN uint32_t lanes[kLanes];
  hn::Store(top, U32(), lanes);
  for (const uint32_t lane : lanes) most = std::max(most, lane);
  for (int step = 1; most - least > 1; ++step) {
    const uint32_t middle = least + (most - least) / 2;
    const size_t above = count_from(keys, count, middle + 1);
    (above >= k ? least : most) = middle;
    if (step % 4 != 0 || count <= kLanes) continue;
    size_t left = 0, larger = 0;
    for (size_t i = 0; i < count; i += kLanes) {
      const VecU values = load_keys(keys, i, count);
      const auto beyond = most == 0xffffffff ? hn::MaskFromVec(hn::Zero(U32())) : at_least(values, most + 1);
      larger += hn::CountTrue(U32(), beyond);
      left += store_those(values, hn::AndNot(beyond, at_least(values, least + 1)), spare + left);
    }
    keys = spare;
    count = left;
    k -= larger;
  }
  return most;
}

/// Collects keys above zero, the `wanted` largest and hardly more: a loop over all keys takes those that are at least
/// as large as a sample of them suggests.
template <bool kWithPlaces>
class Collected {
 public:
  HWY_INLINE Collected(size_t n, size_t wanted, Workspace& memory) : memory_(memory), n_(n), wanted_(wanted) {}

  /// Called ahead of the loop: guesses the least key from a sample. Takes the sample as loop kLoop takes its keys:
  /// kSample if that loop computes the values that keys are made of.
  template <int kLoop, class Key>
  HWY_INLINE void guess(const Key& key) {
    constexpr size_t kLeastRuns = 512, kMostRuns = 4096;
    const size_t runs = std::clamp(n_ / 8192, kLeastRuns, kMostRuns), sampled = runs * kGroup;
    if (n_ < 4 * sampled) return make_room(n_);
    const double share = static_cast<double>(sampled) / static_cast<double>(n_);
    const double expected = static_cast<double>(wanted_) * share;
    const auto rank = static_cast<size_t>(expected + 4 * std::sqrt(expected) + 8);
    if (rank >= sampled) return make_room(n_);
    uint32_t* const sample = taken<uint32_t>(2 * (sampled + kGroup), memory_);
    for (size_t run = 0; run < runs; ++run) {
      const size_t first = run * (n_ / kGroup - 1) / (runs - 1) * kGroup;
      store_lanes(key(Sixteen<kLoop, Whole>{first, {}}), sample + run * kGroup);
    }
    least_ = std::max(kth_largest(sample, sampled, rank + 1, sample + sampled + kGroup), 1u);
    const auto likely = static_cast<double>(rank);
    make_room(std::min(n_, static_cast<size_t>((likely + 6 * std::sqrt(likely) + 16) / share)));
  }

  template <int kLoop, class Rest>
  HWY_INLINE void take(Uint keys, Sixteen<kLoop, Rest> i) {
    keys = or_else(keys, Uint(0u), i.rest);
    COMPLL_EACH {
      const auto holds = at_least(keys.v[k], least_);
      if (hn::AllFalse(U32(), holds)) continue;
      if (found_ + kLanes <= room_) {
        if (kWithPlaces) {
          store_those(numbers_from(static_cast<uint32_t>(i.first + k * kLanes)), holds, places_ + found_);
        }
        store_those(keys.v[k], holds, keys_ + found_);
      }
      found_ += hn::CountTrue(U32(), holds);
    }
  }

 protected:
  /// Called after the loop: takes all keys again if the sample suggested too many, or too few.
  template <class Key>
  HWY_INLINE void complete(const Key& key) {
    if (found_ <= room_ - kLanes && (found_ >= wanted_ || least_ == 1)) return;
    least_ = counted_least(key);
    take_all(key);
    if (found_ <= room_ - kLanes) return;
    make_room(found_);
    take_all(key);
  }
  /// The least of the `wanted` largest keys; at least as many were found.
  uint32_t last() { return kth_largest(keys_, found_, wanted_, taken<uint32_t>(found_ + kGroup, memory_)); }

  Workspace& memory_;
  size_t n_, wanted_;
  size_t found_ = 0;
  uint32_t* places_ = nullptr;
  uint32_t* keys_ = nullptr;

 private:
  void make_room(size_t count) {
    room_ = count + 2 * kLanes;
    if (kWithPlaces) places_ = taken<uint32_t>(room_ + kGroup, memory_);
    keys_ = taken<uint32_t>(room_ + kGroup, memory_);
  }

  template <class Key>
  HWY_INLINE void take_all(const Key& key) {
    found_ = 0;
    for_sixteens(n_, [&](auto i) COMPLL_INLINE { take(key(i), i); });
  }

  /// The largest key of which there are at least `wanted_` in bins of its upper bits, or 1.
  template <class Key>
  HWY_INLINE uint32_t counted_least(const Key& key) {
    constexpr int kShift = 20;
    constexpr size_t kBins = size_t{1} << (32 - kShift);
    uint32_t* const bins = taken<uint32_t>(kBins, memory_);
    std::fill(bins, bins + kBins, 0u);
    for_sixteens(n_, [&](auto i) COMPLL_INLINE {
      HWY_ALIGN uint32_t each[kGroup];
      store_lanes(key(i), each);
      for (size_t k = 0; k < i.rest; ++k) ++bins[each[k] >> kShift];
    });
    size_t above = 0;
    for (size_t bin = kBins; bin-- > 1;) {
      above += bins[bin];
      if (above >= wanted_) return static_cast<uint32_t>(bin) << kShift;
    }
    return 1;
  }

  size_t room_ = 0;
  uint32_t least_ = 1;
};

/// Finds the places of the `wanted` largest keys above zero, of equal ones the first, in ascending order; fills up with
/// kNoPlace.
class Largest : public Collected<true> {
 public:
  HWY_INLINE Largest(size_t n, size_t wanted, Workspace& memory) : Collected(n, wanted, memory) {}

  /// Returns the places; called after the loop.
  template <class Key>
  HWY_INLINE Array<uint32_t> places(const Key& key) {
    complete(key);
    uint32_t* const out = taken<uint32_t>(wanted_ + kLanes, memory_);
    std::fill(out + choose(out), out + wanted_, kNoPlace);
    return {out};
  }

 private:
  /// Writes the chosen ones of the places that were found to `out`; returns their number.
  size_t choose(uint32_t* out) {
    if (found_ <= wanted_) {
      std::copy_n(places_, found_, out);
      return found_;
    }
    if (wanted_ == 0) return 0;
    const uint32_t last = this->last();
    size_t given = 0;
    if (count_from(keys_, found_, last) == wanted_) {
      for (size_t i = 0; i < found_; i += kLanes) {
        const auto holds = at_least(load_keys(keys_, i, found_), last);
        given += store_those(hn::LoadU(U32(), places_ + i), holds, out + given);
      }
      return given;
    }
    size_t equal = wanted_ - (last == 0xffffffff ? 0 : count_from(keys_, found_, last + 1));
    for (size_t i = 0; i < found_; ++i) {
      const bool takes = keys_[i] > last || (keys_[i] == last && equal != 0);
      equal -= takes && keys_[i] == last;
      if (takes) out[given++] = places_[i];
    }
    return given;
  }
};

/// Finds the `wanted`-th largest element above zero by its key; 0: there are fewer, or none is wanted.
template <class T>
class KthLargest : public Collected<false> {
 public:
  HWY_INLINE KthLargest(size_t n, size_t k, Workspace& memory) : Collected(n, k, memory) {}

  /// Returns the element; called after the loop.
  template <class Key>
  HWY_INLINE T element(const Key& key) {
    complete(key);
    return std::bit_cast<T>(wanted_ == 0 || found_ < wanted_ ? 0 : last());
  }
};

/// Runs a search in a loop of its own.
template <class Search, class Key>
HWY_INLINE void search_all(size_t n, Search& search, const Key& key) {
  search.template guess<0>(key);
  for_sixteens(n, [&](auto i) COMPLL_INLINE { search.take(key(i), i); });
}
template <class Key>
HWY_INLINE Array<uint32_t> largest(size_t n, size_t wanted, const Key& key, Workspace& memory) {
  Largest search(n, wanted, memory);
  search_all(n, search, key);
  return search.places(key);
}
template <class T, class Key>
HWY_INLINE T kth_largest(size_t n, size_t k, const Key& key, Workspace& memory) {
  KthLargest<T> search(n, k, memory);
  search_all(n, search, key);
  return search.element(key);
}

/// The first `wanted` places that hold; then kNoPlace.
template <class A>
HWY_INLINE Headed<uint32_t> where(size_t n, size_t wanted, const A& holds, Workspace& memory) {
  uint32_t* const out = taken<uint32_t>(wanted + kLanes, memory);
  size_t found = 0;
  for_sixteens(n, [&](auto i) COMPLL_INLINE {
    if (found >= wanted) return;
    const Uint held = or_else(to_uint(holds(i)), Uint(0u), i.rest);
    COMPLL_EACH {
      const auto those = at_least(held.v[k], 1);
      if (found >= wanted || hn::AllFalse(U32(), those)) continue;
      found += store_those(numbers_from(static_cast<uint32_t>(i.first + k * kLanes)), those, out + found);
    }
  });
  return {out, std::min(found, wanted), kNoPlace};
}

/// Sorts by merging runs of 1, 2, 4, ... elements: ends whatever `goes_before` says, and in the interpreter's order.
template <class T, class A, class Less>
HWY_INLINE Array<T> sorted(size_t count, const A& array, Workspace& memory, const Less& goes_before) {
  T* elements = taken<T>(count, memory);
  T* merged = taken<T>(count, memory);
  fill(count, array, elements);
  for (size_t run = 1; run < count; run *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * run) {
      const size_t middle = std::min(begin + run, count), end = std::min(begin + 2 * run, count);
      size_t left = begin, right = middle;
      for (size_t to = begin; to < end; ++to) {
        const bool take_right = left == middle || (right != end && goes_before(elements[right], elements[left]));
        merged[to] = elements[take_right ? right++ : left++];
      }
    }
    std::swap(elements, merged);
  }
  return {elements};
}

// Moving elements.

// Places are far from each other: prefetches the element at each some steps earlier.
inline constexpr size_t kPlacesAhead = 24;

template <class P>
HWY_INLINE void fetch_place(size_t i, size_t count, const P& places, size_t size, const void* memory, size_t bytes) {
  if (i + kPlacesAhead >= count) return;
  const auto place = static_cast<uint32_t>(places(i + kPlacesAhead));
  if (place < size) hwy::Prefetch(static_cast<const std::byte*>(memory) + place * bytes);
}

/// The elements at these places; 0 for a place outside.
template <class T, class P, class A>
HWY_INLINE Array<T> gathered(size_t count, const P& places, size_t size, const A& array, Workspace& memory) {
  T* const out = taken<T>(count, memory);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (requires { array.fetch_one(size_t{0}); }) {
      const auto next = static_cast<uint32_t>(i + kPlacesAhead < count ? places(i + kPlacesAhead) : kNoPlace);
      if (next < size) array.fetch_one(next);
    }
    out[i] = element(size, array, static_cast<uint32_t>(places(i)));
  }
  return {out};
}

/// The same of places that `where` gives: the places behind its end are outside.
template <class T, class A>
HWY_INLINE Headed<T> gathered(size_t, const Headed<uint32_t>& places, size_t size, const A& array, Workspace& memory) {
  return {gathered<T>(places.end, Array<uint32_t>{places.data}, size, array, memory).data, places.end, T{}};
}

/// Sets `out`'s elements at these places, in their order.
template <class T, class P, class V>
HWY_INLINE void set_at(size_t count, const P& places, const V& values, size_t size, T* out) {
  for (size_t i = 0; i < count; ++i) {
    fetch_place(i, count, places, size, out, sizeof(T));
    const auto place = static_cast<uint32_t>(places(i));
    if (place < size) out[place] = values(i);
  }
}
template <class T, class P, class V, class Add>
HWY_INLINE void add_at(size_t count, const P& places, const V& values, size_t size, T* out, const Add& add) {
  for (size_t i = 0; i < count; ++i) {
    fetch_place(i, count, places, size, out, sizeof(T));
    const auto place = static_cast<uint32_t>(places(i));
    if (place < size) out[place] = add(out[place], values(i));
  }
}

/// Changes each place once: if a place occurs again, the last of its values counts, as set_at would leave it.
template <class T, class P, class V, class Add>
HWY_INLINE void add_last_at(size_t count, const P& places, const V& values, size_t size, T* out, const Add& add,
                            Workspace& memory) {
  const auto from_last = [&](size_t i) HWY_ATTR { return places(count - 1 - i); };
  uint64_t* met = taken<uint64_t>(size / 64 + 1, memory);
  std::fill(met, met + size / 64 + 1, uint64_t{0});
  for (size_t i = 0; i < count; ++i) {
    fetch_place(i, count, from_last, size, out, sizeof(T));
    const auto place = static_cast<uint32_t>(from_last(i));
    if (place >= size) continue;
    const uint64_t bit = uint64_t{1} << place % 64;
    if ((met[place / 64] & bit) == 0) out[place] = add(out[place], values(count - 1 - i));
    met[place / 64] |= bit;
  }
}

template <class A>
HWY_INLINE Array<uint32_t> histogram(size_t count, const A& array, size_t bins, Workspace& memory) {
  uint32_t* out = taken<uint32_t>(bins, memory);
  std::fill(out, out + bins, 0u);
  for (size_t i = 0; i < count; ++i) {
    const auto bin = static_cast<uint32_t>(array(i));
    if (bin < bins) ++out[bin];
  }
  return {out};
}

/// Transforms the elements of [begin, end), which are whole blocks, in loop kLoop.
template <int kLoop, class A>
HWY_INLINE void hadamard(size_t begin, size_t end, size_t block, const A& array, float* out) {
  for_groups(begin, end, [&](size_t i, auto rest) COMPLL_INLINE {
    store_group<float>(array(Sixteen<kLoop, decltype(rest)>{i, rest}), out + i, rest);
  });
  rotate_blocks(out + begin, end - begin, block);
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
