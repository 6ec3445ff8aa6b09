// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix and of vectors; compll/interpreter/matrix.h defines them, and their order of additions. A matrix
// lies row by row, vectors lie one after the other. Each of them is an object that returns its element i. A NaN stays
// NaN, without a promise of its bits.
#pragma once

#include "compll/ops/cuda/vector_form_reducers.cuh"

namespace casync::compll::cuda {

/// Four rows of 4096: a block of threads has work for half of its lanes in products with rows.
inline constexpr uint32_t kRoundsTile = 4 * kVectorFormTile;

/// A tile's share of `count` rows, or other parts of a matrix. Its ends need not be those of the tile's elements.
struct Share {
  uint64_t begin, end;
  __device__ Share(const Part& part, uint64_t count)
      : begin(count * part.tile / part.segment.tile_count), end(count * (part.tile + 1) / part.segment.tile_count) {}
};

COMPLL_BOTH uint64_t vectors_in(uint64_t elements, uint64_t length) { return length == 0 ? 0 : elements / length; }

/// A matrix whose elements are put into memory as they are computed.
template <class A>
struct Filling {
  const A& computed;
  float* to;
  __device__ float operator()(uint64_t i) const { return to[i] = computed(i); }
  __device__ Array<float> again() const { return {to}; }
};
template <class A>
Filling(const A&, float*) -> Filling<A>;

/// Returns the matrix for a caller that has read these elements already, in the same threads.
template <class A>
__device__ __forceinline__ const A& looked_at(const A& matrix) {
  return matrix;
}
template <class A>
__device__ __forceinline__ Array<float> looked_at(const Filling<A>& matrix) {
  return matrix.again();
}

/// Returns the sum over 16 threads, half of a warp, to lane 0; adds in halves.
__device__ __forceinline__ float sum_of_lanes(float own) {
  for (uint32_t half = kReductionLanes / 2; half != 0; half /= 2) {
    own = own + __shfl_down_sync(kWholeWarp, own, half, kReductionLanes);
  }
  return own;
}

/// Multiplies the tile's rows by vectors k to k + kCount: half a warp takes a row, its threads are the sum's lanes.
template <uint32_t kCount, class A, class V>
__device__ __forceinline__ void multiply_rows(const Share& rows, const Matrix& n, const A& matrix, const V& vectors,
                                              uint64_t k, float* out) {
  constexpr uint32_t kRows = kThreads / kReductionLanes;
  for (uint64_t first = rows.begin; first < rows.end; first += kRows) {
    const uint64_t r = first + threadIdx.x / kReductionLanes;
    const uint64_t columns = r < rows.end ? n.columns : 0;
    float sums[kCount] = {};
#pragma unroll 4
    for (uint64_t c = reduction_lane(); c < columns; c += kReductionLanes) {
      const float x = matrix(r * n.columns + c);
#pragma unroll
      for (uint32_t v = 0; v < kCount; ++v) sums[v] = sums[v] + x * vectors((k + v) * n.columns + c);
    }
#pragma unroll
    for (uint32_t v = 0; v < kCount; ++v) {
      const float sum = sum_of_lanes(sums[v]);
      if (reduction_lane() == 0 && r < rows.end) out[(k + v) * n.rows + r] = sum;
    }
  }
}

/// Multiplies as many of `left` vectors as are worked on together; returns their number.
template <class A, class V>
__device__ __forceinline__ uint32_t multiply_some(uint64_t left, const Share& rows, const Matrix& n, const A& matrix,
                                                  const V& vectors, uint64_t k, float* out) {
  if (left >= 8) return multiply_rows<8>(rows, n, matrix, vectors, k, out), 8;
  if (left >= 4) return multiply_rows<4>(rows, n, matrix, vectors, k, out), 4;
  if (left >= 2) return multiply_rows<2>(rows, n, matrix, vectors, k, out), 2;
  return multiply_rows<1>(rows, n, matrix, vectors, k, out), 1;
}

/// Sets the elements from `made` on to zero: they are of vectors without an operand.
__device__ __forceinline__ void clear_behind(const Part& part, uint64_t made, uint64_t wanted, float* out) {
  for_each(part, wanted, [&](uint64_t i) {
    if (i >= made) out[i] = 0;
  });
}

/// Multiplies each row by each of the vectors of columns in the `given` elements.
template <class A, class V>
__device__ __forceinline__ void products_of_rows(const Part& part, const Matrix& n, const A& matrix, uint64_t given,
                                                 const V& vectors, uint64_t wanted, float* out) {
  const uint64_t count = least(vectors_in(given, n.columns), vectors_in(wanted, n.rows));
  clear_behind(part, count * n.rows, wanted, out);
  if (count == 0) return for_each(part, n, [&](uint64_t i) { static_cast<void>(matrix(i)); });
  const Share rows(part, n.rows);
  uint64_t k = multiply_some(count, rows, n, matrix, vectors, 0, out);
  while (k < count) k += multiply_some(count - k, rows, n, looked_at(matrix), vectors, k, out);
}

/// Multiplies each column by each of the vectors of rows, from the first row to the last. A block of threads takes 32
/// columns: it loads so many rows at a time that memory is kept busy, then a warp adds them up for each vector.
template <class A, class V>
__device__ __forceinline__ void products_of_columns(const Part& part, const Matrix& n, const A& matrix, uint64_t given,
                                                    const V& vectors, uint64_t wanted, float* out) {
  constexpr uint32_t kRows = kVectorFormTile / kLanes;
  const uint64_t count = least(vectors_in(given, n.rows), vectors_in(wanted, n.columns));
  clear_behind(part, count * n.columns, wanted, out);
  const Share strips(part, blocks_of(n.columns, kLanes));
  float* const kept = reinterpret_cast<float*>(part.shared.words);
  const uint32_t warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  for (uint64_t strip = strips.begin; strip < strips.end; ++strip) {
    const uint64_t c = strip * kLanes + lane;
    const bool is_there = c < n.columns;
    for (uint64_t first = 0; first < n.rows; first += kRows) {
      const uint32_t rows = static_cast<uint32_t>(least<uint64_t>(kRows, n.rows - first));
      __syncthreads();
#pragma unroll 8
      for (uint32_t r = warp; r < rows; r += kWarps) {
        if (is_there) kept[r * kLanes + lane] = matrix((first + r) * n.columns + c);
      }
      __syncthreads();
      for (uint64_t k = warp; k < count && is_there; k += kWarps) {
        float sum = first == 0 ? 0.0f : out[k * n.columns + c];
#pragma unroll 8
        for (uint32_t r = 0; r < rows; ++r) sum = sum + kept[r * kLanes + lane] * vectors(k * n.rows + first + r);
        out[k * n.columns + c] = sum;
      }
    }
  }
  __syncthreads();
}

/// The matrix that is the sum of the products of vectors of rows and of columns. Its elements are computed where they
/// are used.
template <class L, class R>
struct Outer {
  const L& left;
  const R& right;
  uint64_t count;
  uint32_t rows, columns;

  __device__ float operator()(uint64_t i) const {
    const uint32_t r = static_cast<uint32_t>(i) / columns, c = static_cast<uint32_t>(i) - r * columns;
    float sum = 0;
    for (uint64_t k = 0; k < count; ++k) sum = sum + left(k * rows + r) * right(k * columns + c);
    return sum;
  }
};
template <class L, class R>
__device__ __forceinline__ Outer<L, R> outer_product(const Matrix& n, uint64_t of_left, const L& left,
                                                     uint64_t of_right, const R& right) {
  const uint64_t count = least(vectors_in(of_left, n.rows), vectors_in(of_right, n.columns));
  return {left, right, count, static_cast<uint32_t>(n.rows), static_cast<uint32_t>(n.columns)};
}

/// product(0) + product(1) + ... in 16 lanes, which are then combined in halves. All threads of the block get the sum;
/// thread i % kThreads asks for element i.
template <class Product>
__device__ __forceinline__ double sum_in_lanes(const Part& part, uint64_t length, const Product& product) {
  constexpr uint32_t kTogether = kVectorFormTile / 2;  // doubles that shared memory holds
  double* const products = reinterpret_cast<double*>(part.shared.words);
  double own = 0;
  for (uint64_t first = 0; first < length; first += kTogether) {
    const uint32_t size = static_cast<uint32_t>(least<uint64_t>(kTogether, length - first));
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < size; j += kThreads) products[j] = product(first + j);
    __syncthreads();
    const uint32_t end = threadIdx.x < kReductionLanes ? size : 0;
#pragma unroll 8
    for (uint32_t j = threadIdx.x; j < end; j += kReductionLanes) own = own + products[j];
    __syncthreads();
  }
  for (uint32_t half = kReductionLanes / 2; half != 0; half /= 2) {
    own = own + __shfl_down_sync(kWholeWarp, own, half, kReductionLanes);
  }
  if (threadIdx.x == 0) products[0] = own;
  __syncthreads();
  const double sum = products[0];
  __syncthreads();
  return sum;
}

/// The rest of a vector without its parts along earlier vectors. A part is subtracted when the next sum is computed, by
/// the thread that has the element anyway.
class Rest {
 public:
  __device__ Rest(double* rest) : rest_(rest) {}
  __device__ double begin(uint64_t i, float x) const { return rest_[i] = static_cast<double>(x); }
  __device__ double at(uint64_t i) const {
    if (other_ == nullptr) return rest_[i];
    const double part = along_ * static_cast<double>(other_[i]);
    return rest_[i] = rest_[i] - part;
  }
  __device__ double last(uint64_t i) const { return rest_[i]; }
  __device__ void take_away(double along, const float* other) { along_ = along, other_ = other; }

 private:
  double* rest_;
  double along_ = 0;
  const float* other_ = nullptr;
};

/// Gram and Schmidt's method, in place, by one block of threads. `memory`: `length` doubles.
__device__ inline void orthonormalize(const Part& part, uint64_t size, uint64_t length, float* vectors,
                                      double* memory) {
  constexpr double kLeastLeft = 0x1p-20;
  const uint64_t count = vectors_in(size, length);
  for (uint64_t k = 0; k < count; ++k) {
    float* const vector = vectors + k * length;
    Rest rest(memory);
    const double before = sqrt(sum_in_lanes(part, length, [&](uint64_t i) {
      const double x = rest.begin(i, vector[i]);
      return x * x;
    }));
    for (uint64_t pair = 0; pair < 2 * k; ++pair) {  // with each earlier vector, and all of that twice
      const float* const other = vectors + pair % k * length;
      const double along =
          sum_in_lanes(part, length, [&](uint64_t i) { return static_cast<double>(other[i]) * rest.at(i); });
      rest.take_away(along, other);
    }
    const double after = sqrt(sum_in_lanes(part, length, [&](uint64_t i) {
      const double x = rest.at(i);
      return x * x;
    }));
    const bool finite = is_finite(before) && is_finite(after), stays = after > before * kLeastLeft;
    for (uint64_t i = threadIdx.x; i < length; i += kThreads) {
      vector[i] = !finite ? from_bits(0x7fc00000u) : stays ? static_cast<float>(rest.last(i) / after) : 0.0f;
    }
    __syncthreads();
  }
}

/// Returns a reduction's value as it is, if that needs no conversion.
struct AsItIs {
  template <class T>
  COMPLL_BOTH T operator()(T x) const {
    return x;
  }
};

/// Reduces each vector by a warp, in order; vectors that do not exist have no elements.
template <class Reducer, class A, class T, class... Initial>
__device__ __forceinline__ void reduce_vectors(const Part& part, uint64_t count, uint64_t length, const A& array,
                                               uint64_t vectors, T* out, Initial... initial) {
  const uint64_t warps = uint64_t{part.segment.tile_count} * kWarps;
  for (uint64_t v = uint64_t{part.tile} * kWarps + threadIdx.x / kLanes; v < vectors; v += warps) {
    const uint64_t begin = least(v * length, count), size = least(length, count - begin);
    Reducer reducer;
    for (uint64_t first = 0; first < size; first += kReductionChunk) {
      const uint64_t some = least<uint64_t>(kReductionChunk, size - first);
      take_chunk(reducer, begin + first, some, array);
      if (some == kReductionChunk) reducer.end_chunk();
    }
    const T result = static_cast<T>(reducer.result(initial...));
    if (threadIdx.x % kLanes == 0) out[v] = result;
  }
}

/// Reduces each vector by a block of threads: for reductions whose order cannot be seen.
template <class Reducer, class A, class T, class Then = AsItIs>
__device__ __forceinline__ void join_vectors(const Part& part, uint64_t count, uint64_t length, const A& array,
                                             uint64_t vectors, T* out, const Then& then = {}) {
  for (uint64_t v = part.tile; v < vectors; v += part.segment.tile_count) {
    const uint64_t begin = least(v * length, count), size = least(length, count - begin);
    Reducer reducer;
#pragma unroll 4
    for (uint64_t j = threadIdx.x; j < size; j += kThreads) reducer.take(array(begin + j));
    const uint64_t word = joined<Reducer>(reducer.word(), kLanes);
    __syncthreads();
    if (threadIdx.x % kLanes == 0) part.shared.told[threadIdx.x / kLanes] = word;
    __syncthreads();
    if (threadIdx.x != 0) continue;
    uint64_t all = word;
    for (uint32_t warp = 1; warp < kWarps; ++warp) all = Reducer::join(all, part.shared.told[warp]);
    out[v] = then(Reducer::value_of(all));
  }
  __syncthreads();  // shared memory has another use from here on
}

/// One turn of a step that exchanges. A matrix of no elements has a tile, too: other arrays may have some.
template <class Function>
__device__ __forceinline__ void turn_by_stages(const Launch& launch) {
  run_stages<typename Function::Geometry>(launch, Function::kStages, [](Part& part) {
    part.wait();
    Function::stage(part.stage, part);
  });
}

}  // namespace casync::compll::cuda
