// SPDX-License-Identifier: Apache-2.0
//
// Reductions in the one order that all back ends keep to (compll/interpreter/reductions.h): lane i of 16 takes the
// elements i, i + 16, ... in turn, then halves are combined. Where the order can be seen in the result it is kept: one
// half of a warp is the 16 lanes (LaneSum, LaneFold). Where it cannot each thread takes what it holds (Magnitude,
// Extreme, Count, IntegerSum); the warp then exchanges 64-bit words that join in any order.
#pragma once

#include "compll/ops/cuda/nan.cuh"
#include "compll/ops/cuda/scalar.cuh"

namespace casync::compll::cuda {

inline constexpr uint32_t kWholeWarp = 0xffffffffu;
inline constexpr uint32_t kReductionLanes = 16;

/// Words of which the greater one stays; 0 is the one of nothing.
struct JoinByMax {
  COMPLL_BOTH static uint64_t join(uint64_t a, uint64_t b) { return a < b ? b : a; }
  __device__ static void join_at(uint64_t* at, uint64_t word) { atomicMax(at, word); }
};
struct JoinBySum {
  COMPLL_BOTH static uint64_t join(uint64_t a, uint64_t b) { return a + b; }
  __device__ static void join_at(uint64_t* at, uint64_t word) { atomicAdd(at, word); }
};

/// The largest |x|, by its bits.
class Magnitude : public JoinByMax {
 public:
  COMPLL_BOTH void take(float x, uint64_t) { top_ = max(top_, bits(x) & 0x7fffffffu); }
  COMPLL_BOTH uint64_t word() const { return top_; }
  COMPLL_BOTH static float value_of(uint64_t word) { return from_bits(static_cast<uint32_t>(word)); }

 private:
  uint32_t top_ = 0;
};

/// How many are not zero.
class Count : public JoinBySum {
 public:
  template <class T>
  COMPLL_BOTH void take(T x, uint64_t) {
    count_ += to_bool(x) ? 1 : 0;
  }
  COMPLL_BOTH uint64_t word() const { return count_; }
  COMPLL_BOTH static uint32_t value_of(uint64_t word) { return static_cast<uint32_t>(word); }

 private:
  uint32_t count_ = 0;
};

/// Of integers, which wrap around.
template <class T>
class IntegerSum : public JoinBySum {
 public:
  COMPLL_BOTH void take(T x, uint64_t) { sum_ += static_cast<uint32_t>(x); }
  COMPLL_BOTH uint64_t word() const { return sum_; }
  COMPLL_BOTH static T value_of(uint64_t word) { return static_cast<T>(static_cast<uint32_t>(word)); }

 private:
  uint32_t sum_ = 0;
};

/// Integers in their order as words.
struct OrderedInteger {
  COMPLL_BOTH static uint64_t word_of(int32_t x, uint64_t) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
  COMPLL_BOTH static uint64_t word_of(uint32_t x, uint64_t) { return x; }
};

/// The greatest element. Of 0 and -0, which are equal, it is the one that comes first in the order: that of the lane
/// whose bits, read backwards, are the least number, and in it the one of the least index. NaN is not looked at.
template <class T>
class Maximum;
template <>
class Maximum<float> : public JoinByMax {
 public:
  COMPLL_BOTH void take(float x, uint64_t i) { top_ = join(top_, word_of(x, i)); }
  COMPLL_BOTH uint64_t word() const { return top_; }

  COMPLL_BOTH static uint64_t word_of(float x, uint64_t i) {
    if (x != x) return 0;
    const uint32_t at = bits(x);
    if (x != 0) return uint64_t{at >> 31 != 0 ? ~at : at | 0x80000000u} << 32;
    const uint32_t lane = static_cast<uint32_t>(i % kReductionLanes);
    const uint32_t backwards = (lane & 1) << 3 | (lane & 2) << 1 | (lane & 4) >> 1 | lane >> 3;
    const uint32_t turn = backwards << 27 | (static_cast<uint32_t>(i / kReductionLanes) & 0x7ffffffu);
    return uint64_t{0x80000000u} << 32 | (~turn & 0x7fffffffu) << 1 | at >> 31;
  }
  COMPLL_BOTH static float value_of(uint64_t word) {
    const uint32_t upper = static_cast<uint32_t>(word >> 32);
    if (word == 0) return from_bits(0xff800000u);
    if (upper == 0x80000000u) return from_bits(static_cast<uint32_t>(word) << 31);
    return from_bits(upper >> 31 != 0 ? upper & 0x7fffffffu : ~upper);
  }

 private:
  uint64_t top_ = 0;
};
template <>
class Maximum<int32_t> : public JoinByMax {
 public:
  COMPLL_BOTH void take(int32_t x, uint64_t) { top_ = max(top_, static_cast<uint32_t>(x) ^ 0x80000000u); }
  COMPLL_BOTH uint64_t word() const { return top_; }
  COMPLL_BOTH static int32_t value_of(uint64_t word) {
    return static_cast<int32_t>(static_cast<uint32_t>(word) ^ 0x80000000u);
  }

 private:
  uint32_t top_ = 0;
};
template <>
class Maximum<uint32_t> : public JoinByMax {
 public:
  COMPLL_BOTH void take(uint32_t x, uint64_t) { top_ = max(top_, x); }
  COMPLL_BOTH uint64_t word() const { return top_; }
  COMPLL_BOTH static uint32_t value_of(uint64_t word) { return static_cast<uint32_t>(word); }

 private:
  uint32_t top_ = 0;
};

/// The least element: the greatest one upside down.
template <class T>
class Minimum : public JoinByMax {
 public:
  COMPLL_BOTH void take(T x, uint64_t i) { top_.take(turned(x), i); }
  COMPLL_BOTH uint64_t word() const { return top_.word(); }
  COMPLL_BOTH static T value_of(uint64_t word) { return turned(Maximum<T>::value_of(word)); }

 private:
  COMPLL_BOTH static float turned(float x) { return negated(x); }
  COMPLL_BOTH static int32_t turned(int32_t x) { return ~x; }
  COMPLL_BOTH static uint32_t turned(uint32_t x) { return ~x; }
  Maximum<T> top_;
};

/// Joins the words of so many neighbouring threads, a power of two: each of them gets the result.
template <class Reducer>
__device__ __forceinline__ uint64_t joined(uint64_t word, uint32_t threads) {
  for (uint32_t half = threads / 2; half != 0; half /= 2) {
    word = Reducer::join(word, __shfl_xor_sync(kWholeWarp, word, static_cast<int>(half)));
  }
  return word;
}

/// What the threads of a block hold, as one value: `block` is a power of two from 16 on.
template <class Reducer>
__device__ __forceinline__ auto of_block(const Reducer& reducer, uint32_t block) {
  return Reducer::value_of(joined<Reducer>(reducer.word(), block < 4 * kLanes ? block / 4 : kLanes));
}

/// Into what all warps find of the whole tensor.
template <class Reducer>
__device__ __forceinline__ void join_tensor(const Reducer& reducer, uint64_t* slot) {
  const uint64_t word = joined<Reducer>(reducer.word(), kLanes);
  if (threadIdx.x % kLanes == 0) Reducer::join_at(slot, word);
}

/// The sum of floats or doubles. Both halves of a warp are the 16 lanes, and do the same.
class LaneSum {
 public:
  COMPLL_BOTH void take(double x) { sum_ = add(sum_, x); }
  COMPLL_BOTH void take(float x) { take(widened(x)); }
  COMPLL_BOTH double own() const { return sum_; }
  __device__ double result() const {
    double sum = sum_;
    for (uint32_t half = kReductionLanes / 2; half != 0; half /= 2) {
      sum = add(sum, __shfl_down_sync(kWholeWarp, sum, half, kReductionLanes));
    }
    return __shfl_sync(kWholeWarp, sum, 0);
  }

 private:
  double sum_ = 0;
};

/// By the program's function, which has no identity: lanes begin with their first element, lanes without one are left
/// out, and the initial value comes first of all.
template <class T, class Function>
class LaneFold {
 public:
  COMPLL_BOTH void take(T x) {
    value_ = used_ ? Function()(value_, x) : x;
    used_ = true;
  }
  __device__ T result(T initial) const {
    T value = value_;
    uint32_t used = __popc(__ballot_sync(kWholeWarp, used_)) / 2;  // of both halves of the warp
    const uint32_t lane = threadIdx.x % kReductionLanes;
    for (uint32_t half = kReductionLanes / 2; half != 0; half /= 2) {
      const T other = __shfl_down_sync(kWholeWarp, value, half, kReductionLanes);
      if (lane < half && lane + half < used) value = Function()(value, other);
    }
    value = __shfl_sync(kWholeWarp, value, 0);
    return used == 0 ? initial : Function()(initial, value);
  }

 private:
  T value_ = T(0);
  bool used_ = false;
};

}  // namespace casync::compll::cuda
