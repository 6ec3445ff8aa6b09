// SPDX-License-Identifier: Apache-2.0
//
// Reductions in the one order that all back ends keep to (compll/interpreter/reductions.h): in a chunk of 4096 lane i
// of 16 takes the elements i, i + 16, ... in turn, then halves are combined; the chunks' results are reduced alike.
// Reductions whose order can be seen keep it: one half of a warp is the 16 lanes (LaneSum, LaneFold). In the others
// each thread reduces its own elements, and the warp then exchanges words that join in any order.
#pragma once

#include "compll/ops/cuda/nan.cuh"
#include "compll/ops/cuda/scalar.cuh"

namespace casync::compll::cuda {

inline constexpr uint32_t kWholeWarp = 0xffffffffu;
inline constexpr uint32_t kReductionLanes = 16;
inline constexpr uint32_t kReductionChunk = 4096;

// The sum over a warp, and the greatest of it, for each of its threads: one instruction from sm_80 on.
__device__ __forceinline__ uint32_t sum_of_warp(uint32_t own) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#pragma unroll
  for (uint32_t half = kLanes / 2; half != 0; half /= 2) {
    own += __shfl_xor_sync(kWholeWarp, own, static_cast<int>(half));
  }
  return own;
#else
  return __reduce_add_sync(kWholeWarp, own);
#endif
}
__device__ __forceinline__ uint32_t greatest_of_warp(uint32_t own) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#pragma unroll
  for (uint32_t half = kLanes / 2; half != 0; half /= 2) {
    own = max(own, __shfl_xor_sync(kWholeWarp, own, static_cast<int>(half)));
  }
  return own;
#else
  return __reduce_max_sync(kWholeWarp, own);
#endif
}

/// Joins words by keeping the greater one; the word of no elements is 0.
struct JoinByMax {
  template <class Word>
  COMPLL_BOTH static Word join(Word a, Word b) {
    return a < b ? b : a;
  }
  __device__ static uint32_t of_warp(uint32_t word) { return greatest_of_warp(word); }
  __device__ static void join_at(uint64_t* at, uint64_t word) { atomicMax(at, word); }
};
struct JoinBySum {
  template <class Word>
  COMPLL_BOTH static Word join(Word a, Word b) {
    return a + b;
  }
  __device__ static uint32_t of_warp(uint32_t word) { return sum_of_warp(word); }
  __device__ static void join_at(uint64_t* at, uint64_t word) { atomicAdd(at, word); }
};

/// The largest |x|, by its bits.
class Magnitude : public JoinByMax {
 public:
  COMPLL_BOTH void take(float x) { top_ = max(top_, bits(x) & 0x7fffffffu); }
  COMPLL_BOTH uint32_t word() const { return top_; }
  COMPLL_BOTH static float value_of(uint64_t word) { return from_bits(static_cast<uint32_t>(word)); }

 private:
  uint32_t top_ = 0;
};

/// Counts the elements that are not zero.
class Count : public JoinBySum {
 public:
  template <class T>
  COMPLL_BOTH void take(T x) {
    count_ += to_bool(x) ? 1 : 0;
  }
  COMPLL_BOTH uint32_t word() const { return count_; }
  COMPLL_BOTH static uint32_t value_of(uint64_t word) { return static_cast<uint32_t>(word); }

 private:
  uint32_t count_ = 0;
};

/// Sums integers, which wrap around.
template <class T>
class IntegerSum : public JoinBySum {
 public:
  COMPLL_BOTH void take(T x) { sum_ += static_cast<uint32_t>(x); }
  COMPLL_BOTH uint32_t word() const { return sum_; }
  COMPLL_BOTH static T value_of(uint64_t word) { return static_cast<T>(static_cast<uint32_t>(word)); }

 private:
  uint32_t sum_ = 0;
};

/// Finds the greatest element. Ignores NaN, and a zero has no sign.
template <class T>
class Maximum;
template <>
class Maximum<float> : public JoinByMax {
 public:
  COMPLL_BOTH void take(float x) { top_ = max(top_, x == x ? in_order(x) : 0); }
  COMPLL_BOTH uint32_t word() const { return top_; }
  COMPLL_BOTH static float value_of(uint64_t word) {
    const uint32_t top = static_cast<uint32_t>(word);
    if (top == 0) return from_bits(0xff800000u);
    if (top == in_order(0.0f) || top == in_order(-0.0f)) return 0;
    return from_bits(top >> 31 != 0 ? top & 0x7fffffffu : ~top);
  }

 private:
  /// The bits in an order of integers. For a number it is not 0.
  COMPLL_BOTH static uint32_t in_order(float x) {
    const uint32_t at = bits(x);
    return at ^ (static_cast<uint32_t>(static_cast<int32_t>(at) >> 31) | 0x80000000u);
  }

  uint32_t top_ = 0;
};
template <>
class Maximum<int32_t> : public JoinByMax {
 public:
  COMPLL_BOTH void take(int32_t x) { top_ = max(top_, static_cast<uint32_t>(x) ^ 0x80000000u); }
  COMPLL_BOTH uint32_t word() const { return top_; }
  COMPLL_BOTH static int32_t value_of(uint64_t word) {
    return static_cast<int32_t>(static_cast<uint32_t>(word) ^ 0x80000000u);
  }

 private:
  uint32_t top_ = 0;
};
template <>
class Maximum<uint32_t> : public JoinByMax {
 public:
  COMPLL_BOTH void take(uint32_t x) { top_ = max(top_, x); }
  COMPLL_BOTH uint32_t word() const { return top_; }
  COMPLL_BOTH static uint32_t value_of(uint64_t word) { return static_cast<uint32_t>(word); }

 private:
  uint32_t top_ = 0;
};

/// Finds the least element: the greatest one upside down.
template <class T>
class Minimum : public JoinByMax {
 public:
  COMPLL_BOTH void take(T x) { top_.take(reversed(x)); }
  COMPLL_BOTH auto word() const { return top_.word(); }
  COMPLL_BOTH static T value_of(uint64_t word) { return reversed(Maximum<T>::value_of(word)); }

 private:
  COMPLL_BOTH static float reversed(float x) { return 0 - x; }  // for zero it is zero
  COMPLL_BOTH static int32_t reversed(int32_t x) { return ~x; }
  COMPLL_BOTH static uint32_t reversed(uint32_t x) { return ~x; }
  Maximum<T> top_;
};

/// Joins the words of so many neighbouring threads, a power of two: each of them gets the result.
template <class Reducer, class Word>
__device__ __forceinline__ Word joined(Word word, uint32_t threads) {
  if constexpr (sizeof(Word) == 4) {
    if (threads == kLanes) return Reducer::of_warp(word);
  }
#pragma unroll
  for (uint32_t half = kLanes / 2; half != 0; half /= 2) {
    const Word other = __shfl_xor_sync(kWholeWarp, word, static_cast<int>(half));
    if (half < threads) word = Reducer::join(word, other);
  }
  return word;
}

/// Joins the results of the threads of a block: `block` is a power of two from 16 on.
template <class Reducer>
__device__ __forceinline__ auto of_block(const Reducer& reducer, uint32_t block) {
  return Reducer::value_of(joined<Reducer>(reducer.word(), block < 4 * kLanes ? block / 4 : kLanes));
}

/// Joins a warp's result with those of all warps over the tensor.
template <class Reducer>
__device__ __forceinline__ void join_tensor(const Reducer& reducer, uint64_t* slot) {
  const auto word = joined<Reducer>(reducer.word(), kLanes);
  if (threadIdx.x % kLanes == 0) Reducer::join_at(slot, uint64_t{word});
}

/// Returns this thread's lane of the 16. Both halves of a warp are the lanes, and do the same.
__device__ inline uint32_t reduction_lane() { return threadIdx.x % kReductionLanes; }

/// The sum of floats or doubles.
class LaneSum {
 public:
  COMPLL_BOTH void take(double x) { take(Exact(), x); }
  COMPLL_BOTH void take(float x) { take(Exact(), x); }
  template <class Numbers>
  COMPLL_BOTH void take(Numbers, double x) {
    own_ = Numbers::add(own_, x);
  }
  template <class Numbers>
  COMPLL_BOTH void take(Numbers, float x) {
    own_ = Numbers::add(own_, Numbers::widened(x));
  }
  COMPLL_BOTH bool is_nan() const { return own_ != own_; }

  /// Ends a chunk, after its last element.
  __device__ void end_chunk() {
    take_chunk(exactly_in_halves(own_));
    own_ = 0;
    ++chunks_;
    if (chunks_ % kReductionChunk != 0) return;
    take_upper(chunks_ / kReductionChunk - 1, exactly_in_halves(of_chunks_));
    of_chunks_ = 0;
  }
  /// The result of one chunk that has not ended.
  __device__ double chunk() const { return exactly_in_halves(own_); }
  COMPLL_BOTH static double of_nothing() { return 0; }
  COMPLL_BOTH static double joined_to(double sum) { return sum; }
  __device__ double result() const {
    double sum = in_halves(own_);
    if (chunks_ == 0) return sum;
    // Combines chunks, then chunks of chunks, in one loop: hardly any vector is long enough for the second.
#pragma unroll 1
    for (uint32_t index = chunks_, level = 0; level < 2; ++level, index /= kReductionChunk) {
      const double before = level == 0 ? of_chunks_ : upper_;
      sum = exactly_in_halves(reduction_lane() == index % kReductionLanes ? add(before, sum) : before);
    }
    return sum;
  }

 private:
  __device__ void take_chunk(double sum) {
    if (reduction_lane() == chunks_ % kReductionLanes) of_chunks_ = add(of_chunks_, sum);
  }
  __device__ void take_upper(uint32_t index, double sum) {
    if (reduction_lane() == index % kReductionLanes) upper_ = add(upper_, sum);
  }
  static __device__ __forceinline__ double in_halves(double own) {
    double sum = own;
#pragma unroll
    for (uint32_t half = kReductionLanes / 2; half != 0; half /= 2) {
      sum += __shfl_down_sync(kWholeWarp, sum, half, kReductionLanes);
    }
    if (__any_sync(kWholeWarp, sum != sum)) return exactly_in_halves(own);
    return __shfl_sync(kWholeWarp, sum, 0);
  }
  /// Adds with the bits that NaN has on the CPU: slower, and less text.
  static __device__ __forceinline__ double exactly_in_halves(double sum) {
#pragma unroll 1
    for (uint32_t half = kReductionLanes / 2; half != 0; half /= 2) {
      sum = add(sum, __shfl_down_sync(kWholeWarp, sum, half, kReductionLanes));
    }
    return __shfl_sync(kWholeWarp, sum, 0);
  }

  double own_ = 0, of_chunks_ = 0, upper_ = 0;  // for elements, for chunks, for chunks of chunks
  uint32_t chunks_ = 0;
};

/// One lane of a reduction by the program's function, which has no identity: a lane begins with its first element, and
/// lanes without one are left out.
template <class T, class Function>
struct FoldedLane {
  T value = T(0);
  bool used = false;

  COMPLL_BOTH void take(T x) {
    value = used ? Function()(value, x) : x;
    used = true;
  }
  /// Combines all lanes into one, which is then in each of them.
  __device__ FoldedLane in_halves() const {
    T all = value;
    const uint32_t lanes = __popc(__ballot_sync(kWholeWarp, used)) / 2;  // in both halves of the warp
    const uint32_t lane = reduction_lane();
    for (uint32_t half = kReductionLanes / 2; half != 0; half /= 2) {
      const T other = __shfl_down_sync(kWholeWarp, all, half, kReductionLanes);
      if (lane < half && lane + half < lanes) all = Function()(all, other);
    }
    return {__shfl_sync(kWholeWarp, all, 0), lanes != 0};
  }
};

template <class T, class Function>
class LaneFold {
 public:
  COMPLL_BOTH void take(T x) { own_.take(x); }
  __device__ void end_chunk() {
    take_chunk(own_.in_halves());
    own_ = {};
    ++chunks_;
    if (chunks_ % kReductionChunk != 0) return;
    take_upper(chunks_ / kReductionChunk - 1, of_chunks_.in_halves());
    of_chunks_ = {};
  }
  /// The result of one chunk that has not ended and is not empty.
  __device__ T chunk() const { return own_.in_halves().value; }
  COMPLL_BOTH static T of_nothing(T initial) { return initial; }
  COMPLL_BOTH static T joined_to(T all, T initial) { return Function()(initial, all); }
  /// The initial value comes first of all.
  __device__ T result(T initial) const {
    LaneFold all = *this;
    all.take_chunk(own_.in_halves());
    all.take_upper(chunks_ / kReductionChunk, all.of_chunks_.in_halves());
    const FoldedLane<T, Function> one = all.upper_.in_halves();
    return one.used ? Function()(initial, one.value) : initial;
  }

 private:
  __device__ void take_chunk(const FoldedLane<T, Function>& chunk) {
    if (chunk.used && reduction_lane() == chunks_ % kReductionLanes) of_chunks_.take(chunk.value);
  }
  __device__ void take_upper(uint32_t index, const FoldedLane<T, Function>& chunk) {
    if (chunk.used && reduction_lane() == index % kReductionLanes) upper_.take(chunk.value);
  }

  FoldedLane<T, Function> own_, of_chunks_, upper_;
  uint32_t chunks_ = 0;
};

}  // namespace casync::compll::cuda
