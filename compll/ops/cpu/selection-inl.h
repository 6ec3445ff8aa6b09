// SPDX-License-Identifier: Apache-2.0
// Operators of generated text that pick and move elements of whole vectors. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_SELECTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_SELECTION_INL_H_
#undef COMPLL_OPS_CPU_SELECTION_INL_H_
#else
#define COMPLL_OPS_CPU_SELECTION_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "compll/ops/cpu/whole_arrays-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

// Picking elements.

/// What `largest` goes by: 0 for what is not above zero.
HWY_INLINE uint32_t key_of(uint32_t x) { return x; }
HWY_INLINE uint32_t key_of(int32_t x) { return x > 0 ? static_cast<uint32_t>(x) : 0; }
HWY_INLINE uint32_t key_of(float x) { return key_of(static_cast<int32_t>(bits(x))); }

inline constexpr uint32_t kNoPlace = 0xffffffff;

/// The places whose key is at least `least`, which is above zero, and the keys; at most `room`, in ascending order.
/// Returns how many there are, stored or not.
template <class Key>
HWY_INLINE size_t places_from(size_t n, const Key& key, uint32_t least, size_t room, uint32_t* places, uint32_t* keys) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr size_t kTile = 512;
  const hn::ScalableTag<uint32_t> d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN uint32_t tile[kTile];
  size_t found = 0;
  for (size_t first = 0; first < n; first += kTile) {
    const size_t count = std::min(kTile, n - first);
    for (size_t i = 0; i < count; ++i) tile[i] = key(first + i);
    std::fill(tile + count, tile + std::min(kTile, count + lanes), 0u);
    for (size_t i = 0; i < count; i += lanes) {
      const auto values = hn::Load(d, tile + i);
      const auto holds = hn::Eq(hn::Max(values, hn::Set(d, least)), values);
      const size_t some = hn::CountTrue(d, holds);
      if (some == 0) continue;
      if (found + lanes <= room) {
        hn::CompressBlendedStore(hn::Iota(d, static_cast<uint32_t>(first + i)), holds, d, places + found);
        hn::CompressBlendedStore(values, holds, d, keys + found);
      } else {
        for (size_t lane = 0, at = found; lane < lanes; ++lane) {
          if (tile[i + lane] < least) continue;
          if (at < room) places[at] = static_cast<uint32_t>(first + i + lane), keys[at] = tile[i + lane];
          ++at;
        }
      }
      found += some;
    }
  }
  return found;
}

/// The k-th largest of so many keys, 1 <= k <= count: digit by digit, by counting.
inline uint32_t kth_largest(const uint32_t* keys, size_t count, size_t k, Workspace& memory) {
  constexpr size_t kBins = 2048;
  uint32_t* bins = taken<uint32_t>(kBins, memory);
  uint32_t known = 0, mask = 0;
  for (const auto& [shift, width] : {std::pair{21, 11}, std::pair{10, 11}, std::pair{0, 10}}) {
    std::fill(bins, bins + kBins, 0u);
    const uint32_t digit = (1u << width) - 1;
    for (size_t i = 0; i < count; ++i) bins[keys[i] >> shift & digit] += (keys[i] & mask) == known;
    uint32_t bin = digit;
    for (; bins[bin] < k; --bin) k -= bins[bin];
    known |= bin << shift;
    mask |= digit << shift;
  }
  return known;
}

/// The key above which a sample suggests that there are a few more than `wanted`: 1 where it cannot say.
template <class Key>
HWY_INLINE uint32_t guessed_least(size_t n, size_t wanted, const Key& key, Workspace& memory) {
  constexpr size_t kRun = 16, kRuns = 512;
  if (n < 4 * kRun * kRuns) return 1;
  uint32_t* sample = taken<uint32_t>(kRun * kRuns, memory);
  for (size_t run = 0; run < kRuns; ++run) {
    const size_t first = run * (n - kRun) / (kRuns - 1);
    for (size_t i = 0; i < kRun; ++i) sample[run * kRun + i] = key(first + i);
  }
  const double expected = static_cast<double>(wanted) / static_cast<double>(n) * (kRun * kRuns);
  const auto rank = static_cast<size_t>(expected + 4 * std::sqrt(expected) + 8);
  if (rank >= kRun * kRuns) return 1;
  return std::max(kth_largest(sample, kRun * kRuns, rank + 1, memory), 1u);
}

/// The largest key of which there are at least `wanted` in bins of its upper bits, or 1.
template <class Key>
HWY_INLINE uint32_t counted_least(size_t n, size_t wanted, const Key& key, Workspace& memory) {
  constexpr int kShift = 20;
  constexpr size_t kBins = size_t{1} << (32 - kShift);
  uint32_t* bins = taken<uint32_t>(kBins, memory);
  std::fill(bins, bins + kBins, 0u);
  for (size_t i = 0; i < n; ++i) ++bins[key(i) >> kShift];
  size_t above = 0;
  for (size_t bin = kBins; bin-- > 1;) {
    above += bins[bin];
    if (above >= wanted) return static_cast<uint32_t>(bin) << kShift;
  }
  return 1;
}

/// The places of the `wanted` largest keys above zero, of equal ones the first, in ascending order; then kNoPlace.
template <class Key>
HWY_INLINE Array<uint32_t> largest(size_t n, size_t wanted, const Key& key, Workspace& memory) {
  uint32_t* out = taken<uint32_t>(wanted, memory);
  const size_t usual = std::min(n, 2 * wanted + 1024);
  uint32_t* places = taken<uint32_t>(usual, memory);
  uint32_t* keys = taken<uint32_t>(usual, memory);
  uint32_t least = guessed_least(n, wanted, key, memory);
  size_t found = places_from(n, key, least, usual, places, keys);
  if (found > usual || (found < wanted && least > 1)) {
    least = counted_least(n, wanted, key, memory);
    size_t room = usual;
    if ((found = places_from(n, key, least, room, places, keys)) > room) {
      room = found;
      places = taken<uint32_t>(room, memory);
      keys = taken<uint32_t>(room, memory);
      places_from(n, key, least, room, places, keys);
    }
  }
  size_t given = 0;
  if (found <= wanted) {
    for (; given < found; ++given) out[given] = places[given];
  } else if (wanted != 0) {
    const uint32_t last = kth_largest(keys, found, wanted, memory);
    size_t equal =
        wanted - static_cast<size_t>(std::count_if(keys, keys + found, [=](uint32_t k) { return k > last; }));
    for (size_t i = 0; i < found; ++i) {
      const bool takes = keys[i] > last || (keys[i] == last && equal != 0);
      equal -= takes && keys[i] == last;
      if (takes) out[given++] = places[i];
    }
  }
  std::fill(out + given, out + wanted, kNoPlace);
  return {out};
}

/// The first `wanted` places that hold; then kNoPlace.
template <class A>
HWY_INLINE Array<uint32_t> where(size_t n, size_t wanted, const A& holds, Workspace& memory) {
  uint32_t* out = taken<uint32_t>(wanted, memory);
  size_t found = 0;
  for (size_t i = 0; i < n && found < wanted; ++i) {
    if (holds(i)) out[found++] = static_cast<uint32_t>(i);
  }
  std::fill(out + found, out + wanted, kNoPlace);
  return {out};
}

/// Merges runs of 1, 2, 4, ... elements: whatever `goes_before` says, it ends, and in the interpreter's order.
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

/// Sets `out`'s elements at these places, in their order.
template <class T, class P, class V>
HWY_INLINE void set_at(size_t count, const P& places, const V& values, size_t size, T* out) {
  for (size_t i = 0; i < count; ++i) {
    const auto place = static_cast<uint32_t>(places(i));
    if (place < size) out[place] = values(i);
  }
}
template <class T, class P, class V, class Add>
HWY_INLINE void add_at(size_t count, const P& places, const V& values, size_t size, T* out, const Add& add) {
  for (size_t i = 0; i < count; ++i) {
    const auto place = static_cast<uint32_t>(places(i));
    if (place < size) out[place] = add(out[place], values(i));
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

/// Sums and differences of elements `half` apart, within groups of twice as many.
template <size_t kHalf>
HWY_INLINE void butterflies(float* x, size_t size, size_t half) {
  for (size_t first = 0; first < size; first += 2 * half) {
    for (size_t i = first; i < first + half; i += kHalf) {
      float a[kHalf], b[kHalf];
      for (size_t k = 0; k < kHalf; ++k) a[k] = x[i + k], b[k] = x[i + half + k];
      for (size_t k = 0; k < kHalf; ++k) x[i + k] = a[k] + b[k], x[i + half + k] = a[k] - b[k];
    }
  }
}

/// `size` elements, a power of two, times the orthonormal Walsh-Hadamard matrix.
HWY_INLINE void transform(float* x, size_t size) {
  size_t half = 1;
  for (; half < 8 && half < size; half *= 2) {
    if (half == 1) butterflies<1>(x, size, 1);
    if (half == 2) butterflies<2>(x, size, 2);
    if (half == 4) butterflies<4>(x, size, 4);
  }
  for (; half < size; half *= 2) butterflies<8>(x, size, half);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  for (size_t i = 0; i < size; ++i) x[i] *= scale;
}

template <class A>
HWY_INLINE Array<float> hadamard(size_t count, const A& array, size_t block, Workspace& memory) {
  float* out = taken<float>(count, memory);
  fill(count, array, out);
  for (size_t first = 0; first < count; first += block) {
    size_t left = std::min(block, count - first);
    for (float* at = out + first; left != 0;) {
      const size_t size = std::bit_floor(left);
      transform(at, size);
      at += size;
      left -= size;
    }
  }
  return {out};
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
