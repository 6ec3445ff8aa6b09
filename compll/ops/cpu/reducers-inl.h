// SPDX-License-Identifier: Apache-2.0
// Reductions in the one order that all back ends keep to (compll/interpreter/reductions.h): sixteen lanes over a chunk,
// then halves, and the results of chunks like elements (Chunks). `rest` is how many of the sixteen elements count.
// Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_REDUCERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_REDUCERS_INL_H_
#undef COMPLL_OPS_CPU_REDUCERS_INL_H_
#else
#define COMPLL_OPS_CPU_REDUCERS_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "compll/ops/cpu/packing-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// The first `rest` lanes.
HWY_INLINE Bool first_lanes(size_t rest) {
  HWY_ALIGN static constexpr int32_t kIndex[kGroup] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Int index;
  COMPLL_EACH index.v[k] = hn::Load(I32(), kIndex + k * kLanes);
  return index < Int(static_cast<int32_t>(rest));
}

/// Replaces the elements after the last one.
template <class Group>
HWY_INLINE Group or_else(Group values, Group otherwise, size_t rest) {
  return rest >= kGroup ? values : select(first_lanes(rest), values, otherwise);
}

HWY_INLINE void store_lanes(Float a, float* to) { store_floats(a, to); }
HWY_INLINE void store_lanes(Int a, int32_t* to) { COMPLL_EACH hn::StoreU(a.v[k], I32(), to + k * kLanes); }
HWY_INLINE void store_lanes(Uint a, uint32_t* to) { COMPLL_EACH hn::StoreU(a.v[k], U32(), to + k * kLanes); }

template <class Group, class T>
HWY_INLINE Group load_lanes(const T* from) {
  Group group;
  const hn::CappedTag<T, 16> tag;
  COMPLL_EACH group.v[k] = hn::LoadU(tag, from + k * kLanes);
  return group;
}

HWY_INLINE Double load_doubles(const double* from) {
  Double group;
  for (size_t k = 0; k < kDoubleParts; ++k) group.v[k] = hn::LoadU(F64(), from + k * kDoubleLanes);
  return group;
}

inline constexpr size_t kChunk = 4096;
/// Returns true if a chunk ends with element at + rest - 1, counted from the reduction's begin.
HWY_INLINE bool ends_chunk(size_t at, size_t rest) { return (at + rest) % kChunk == 0; }

// Chunks needs three members of a reducer whose order can be seen: Element, the type of the elements that it takes,
// sixteen, which loads as many of them from memory, and is_empty, true if it has taken none and can be left out.

// Constructors are written out: a compiler's own would be of no instruction set.
class Magnitude {
 public:
  HWY_INLINE Magnitude() : top_(hn::Zero(I32())) {}
  HWY_INLINE void take(Float values, size_t rest) {
    const Float counted = or_else(values, Float(0.0f), rest);
    COMPLL_EACH top_ = hn::Max(top_, magnitude_bits(counted.v[k]));
  }
  HWY_INLINE float result() const { return from_bits(max_of_lanes(top_)); }

 private:
  VecI top_;  // one for all parts: any order gives the same, and registers are few
};

template <class Group, class T>
class Maximum {
 public:
  HWY_INLINE Maximum() : top_(kLeast) {}
  HWY_INLINE void take(Group values, size_t rest) { top_ = max(top_, or_else(values, Group(kLeast), rest)); }
  HWY_INLINE T result() const {
    T lanes[kGroup];
    store_lanes(top_, lanes);
    for (size_t half = kGroup / 2; half != 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) lanes[i] = compll::max(lanes[i], lanes[i + half]);
    }
    return lanes[0] + 0;  // a zero has no sign
  }

 private:
  static constexpr T kLeast =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  Group top_;
};

template <class Group, class T>
class Minimum {
 public:
  HWY_INLINE Minimum() : least_(kMost) {}
  HWY_INLINE void take(Group values, size_t rest) { least_ = min(least_, or_else(values, Group(kMost), rest)); }
  HWY_INLINE T result() const {
    T lanes[kGroup];
    store_lanes(least_, lanes);
    for (size_t half = kGroup / 2; half != 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) lanes[i] = compll::min(lanes[i], lanes[i + half]);
    }
    return lanes[0] + 0;  // a zero has no sign
  }

 private:
  static constexpr T kMost =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  Group least_;
};

/// Sums floats and doubles.
class Sum {
 public:
  using Element = double;
  static HWY_INLINE Double sixteen(const double* from) { return load_doubles(from); }
  HWY_INLINE bool is_empty() const { return false; }
  HWY_INLINE Sum() : sum_(0.0) {}
  HWY_INLINE void take(Double values, size_t rest) {
    if (rest < kGroup) {
      HWY_ALIGN double lanes[kGroup];
      for (size_t k = 0; k < kDoubleParts; ++k) hn::Store(values.v[k], F64(), lanes + k * kDoubleLanes);
      std::fill(lanes + rest, lanes + kGroup, 0.0);
      for (size_t k = 0; k < kDoubleParts; ++k) values.v[k] = hn::Load(F64(), lanes + k * kDoubleLanes);
    }
    sum_ = sum_ + values;
  }
  HWY_INLINE void take(Float values, size_t rest) { take(to_double(values), rest); }
  HWY_INLINE double result() const {
    Double sum = sum_;
    for (size_t half = kDoubleParts / 2; half != 0; half /= 2) {
      for (size_t k = 0; k < half; ++k) sum.v[k] = hn::Add(sum.v[k], sum.v[k + half]);
    }
    HWY_ALIGN double lanes[kDoubleLanes];
    hn::Store(sum.v[0], F64(), lanes);
    for (size_t half = kDoubleLanes / 2; half != 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
  }

 private:
  Double sum_;
};

/// Sums integers, which wrap around.
template <class Group, class T>
class IntegerSum {
 public:
  HWY_INLINE IntegerSum() : sum_(T{0}) {}
  HWY_INLINE void take(Group values, size_t rest) { sum_ = sum_ + or_else(values, Group(T{0}), rest); }
  HWY_INLINE T result() const {
    T lanes[kGroup];
    store_lanes(sum_, lanes);
    uint32_t sum = 0;
    for (const T lane : lanes) sum += static_cast<uint32_t>(lane);
    return static_cast<T>(sum);
  }

 private:
  Group sum_;
};

/// Counts elements that are not zero.
class Count {
 public:
  HWY_INLINE Count() : ones_(hn::Zero(I32())) {}
  HWY_INLINE void take(Bool values, size_t rest) {
    if (rest < kGroup) values = values && first_lanes(rest);
    // One instruction where sums have masks; elsewhere the mask is -1.
    COMPLL_EACH {
      const auto counted = hn::RebindMask(I32(), values.v[k]);
      ones_ = kLanes == 16 ? hn::IfThenElse(counted, hn::Add(ones_, hn::Set(I32(), 1)), ones_)
                           : hn::Sub(ones_, hn::VecFromMask(I32(), counted));
    }
  }
  template <class Group>
  HWY_INLINE void take(Group values, size_t rest) {
    take(to_bool(values), rest);
  }
  HWY_INLINE uint32_t result() const { return static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(I32(), ones_))); }

 private:
  VecI ones_;
};

/// Reduces by the user's function, which has no identity: lanes begin with their first element, lanes without one are
/// left out, and the initial value comes first of all.
template <class Group, class T, class Function>
class Fold {
 public:
  using Element = T;
  static HWY_INLINE Group sixteen(const T* from) { return load_lanes<Group>(from); }
  HWY_INLINE Fold() : lanes_(T{0}), used_(0) {}
  HWY_INLINE void take(Group values, size_t rest) {
    if (used_ == 0) {
      lanes_ = values;
      used_ = std::min(rest, kGroup);
    } else {
      const Group both = Function()(lanes_, values);
      lanes_ = rest >= kGroup ? both : select(first_lanes(rest), both, lanes_);
    }
  }
  HWY_INLINE bool is_empty() const { return used_ == 0; }
  /// The result of the elements taken, at least one.
  HWY_INLINE T result() const {
    T lanes[kGroup + kGroup / 2] = {}, combined[kGroup];
    store_lanes(lanes_, lanes);
    for (size_t half = kGroup / 2; half != 0; half /= 2) {
      store_lanes(Function()(load_lanes<Group>(lanes), load_lanes<Group>(lanes + half)), combined);
      for (size_t i = 0; i < half && i + half < used_; ++i) lanes[i] = combined[i];
    }
    return lanes[0];
  }
  HWY_INLINE T result(T initial) const {
    if (used_ == 0) return initial;
    T combined[kGroup];
    store_lanes(Function()(Group(initial), Group(result())), combined);
    return combined[0];
  }

 private:
  Group lanes_;
  size_t used_;  ///< lanes that have an element
};

/// Combines the results of whole chunks, and of chunks of those: enough for fewer than 2^36 elements.
template <class Reducer>
class Chunks {
 public:
  using T = typename Reducer::Element;
  HWY_INLINE Chunks() {}

  /// Takes the next chunk's result. Out of line, and with no reference to the reducer that goes on, which thus stays in
  /// registers.
  HWY_NOINLINE void take(T result) {
    lower_.take(result);
    if (lower_.count != kChunk) return;
    upper_.take(lower_.all().result());
    lower_ = Level();
  }

  /// Begins anew.
  HWY_INLINE void clear() {
    if (lower_.count != 0) lower_ = Level();
    if (upper_.count != 0) upper_ = Level();
  }

  /// The result of all elements: `open` has those after the last whole chunk.
  template <class... Initial>
  HWY_INLINE T result(const Reducer& open, Initial... initial) const {
    if (lower_.count == 0 && upper_.count == 0) return open.result(initial...);
    const bool is_empty = open.is_empty();
    return joined(is_empty, is_empty ? T{} : open.result(), initial...);
  }

 private:
  struct Level {
    HWY_INLINE Level() : count(0) {}
    HWY_INLINE void take(T result) {
      pending[count++ % kGroup] = result;
      if (count % kGroup == 0) lanes.take(Reducer::sixteen(pending), kGroup);
    }
    HWY_INLINE Reducer all() const {
      Reducer all = lanes;
      if (count % kGroup != 0) all.take(Reducer::sixteen(pending), count % kGroup);
      return all;
    }
    Reducer lanes;
    T pending[kGroup] = {};
    size_t count;
  };

  template <class... Initial>
  HWY_NOINLINE T joined(bool is_empty, T last, Initial... initial) const {
    Level lower = lower_, upper = upper_;
    if (!is_empty) lower.take(last);
    if (upper.count == 0) return lower.all().result(initial...);
    if (lower.count != 0) upper.take(lower.all().result());
    return upper.all().result(initial...);
  }

  Level lower_, upper_;
};

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
