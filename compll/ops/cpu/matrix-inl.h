// SPDX-License-Identifier: Apache-2.0
// Products of a matrix and of vectors for generated text. compll/interpreter/matrix.h defines them, and their order of
// additions. The functions read a matrix by pieces of a row, so that it may be computed where it is used: piece(slot,
// first, count) returns the elements from `first` on, at most kPiece of one row, valid until the next call with the
// same slot. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_MATRIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_MATRIX_INL_H_
#undef COMPLL_OPS_CPU_MATRIX_INL_H_
#else
#define COMPLL_OPS_CPU_MATRIX_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compll/ops/cpu/simd-inl.h"
#include "compll/ops/cpu/vector_form_arrays-inl.h"
#include "compll/ops/exchange_kind.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

inline constexpr size_t kPiece = 1024;
inline constexpr size_t kSlots = 8;               ///< pieces, of as many rows, that are worked on together
inline constexpr size_t kSumOf = 16;              ///< lanes of a sum
inline constexpr size_t kVecs = kSumOf / kLanes;  ///< vectors that hold them
inline constexpr size_t kAtOnce = 4;              ///< vectors of the right side that one look at the matrix serves

inline size_t vectors_in(size_t elements, size_t length) { return length == 0 ? 0 : elements / length; }

/// Adds `lanes` in halves.
template <class T>
HWY_INLINE T sum_of_lanes(T* lanes) {
  for (size_t half = kSumOf / 2; half != 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = lanes[i] + lanes[i + half];
  }
  return lanes[0];
}

/// Adds to the lanes of kCount sums a piece of a row times a piece of each vector, `stride` from one to the next.
template <size_t kCount>
HWY_INLINE void add_products(const float* row, const float* vectors, size_t stride, size_t count, float* lanes) {
  const F32 d;
  VecF sums[kCount][kVecs];
  for (size_t k = 0; k < kCount; ++k) {
    for (size_t p = 0; p < kVecs; ++p) sums[k][p] = hn::LoadU(d, lanes + k * kSumOf + p * kLanes);
  }
  size_t c = 0;
  for (; c + kSumOf <= count; c += kSumOf) {
    for (size_t p = 0; p < kVecs; ++p) {
      const VecF x = hn::LoadU(d, row + c + p * kLanes);
      for (size_t k = 0; k < kCount; ++k) {
        sums[k][p] = hn::Add(sums[k][p], hn::Mul(x, hn::LoadU(d, vectors + k * stride + c + p * kLanes)));
      }
    }
  }
  for (size_t k = 0; k < kCount; ++k) {
    for (size_t p = 0; p < kVecs; ++p) hn::StoreU(sums[k][p], d, lanes + k * kSumOf + p * kLanes);
    for (size_t i = c; i < count; ++i) {
      const float product = row[i] * vectors[k * stride + i];
      lanes[k * kSumOf + i - c] = lanes[k * kSumOf + i - c] + product;
    }
  }
}

/// Each row times each vector of columns.
template <class Piece>
HWY_INLINE void products_of_rows(size_t rows, size_t columns, const Piece& piece, const float* vectors, size_t given,
                                 float* out, size_t wanted, Workspace& memory) {
  const size_t count = std::min(vectors_in(given, columns), vectors_in(wanted, rows));
  std::fill(out, out + wanted, 0.0f);
  float* const lanes = taken<float>(std::max(count, kAtOnce) * kSumOf, memory);
  for (size_t r = 0; r < rows; ++r) {
    std::fill(lanes, lanes + count * kSumOf, 0.0f);
    for (size_t c = 0; c < columns; c += kPiece) {
      const size_t size = std::min(kPiece, columns - c);
      const float* const row = piece(0, r * columns + c, size);
      size_t k = 0;
      for (; k + kAtOnce <= count; k += kAtOnce)
        add_products<kAtOnce>(row, vectors + k * columns + c, columns, size, lanes + k * kSumOf);
      for (; k < count; ++k) add_products<1>(row, vectors + k * columns + c, columns, size, lanes + k * kSumOf);
    }
    for (size_t k = 0; k < count; ++k) out[k * rows + r] = sum_of_lanes(lanes + k * kSumOf);
  }
}

/// Adds to kCount sums for each of sixteen columns the rows' elements times the vectors', row after row.
template <size_t kCount>
HWY_INLINE void add_rows(const float* const* pieces, size_t slots, size_t at, const float* vectors, size_t rows,
                         float* out, size_t columns) {
  const F32 d;
  VecF sums[kCount][kVecs];
  for (size_t k = 0; k < kCount; ++k) {
    for (size_t p = 0; p < kVecs; ++p) sums[k][p] = hn::LoadU(d, out + k * columns + p * kLanes);
  }
  for (size_t s = 0; s < slots; ++s) {
    for (size_t p = 0; p < kVecs; ++p) {
      const VecF x = hn::LoadU(d, pieces[s] + at + p * kLanes);
      for (size_t k = 0; k < kCount; ++k) {
        sums[k][p] = hn::Add(sums[k][p], hn::Mul(x, hn::Set(d, vectors[k * rows + s])));
      }
    }
  }
  for (size_t k = 0; k < kCount; ++k) {
    for (size_t p = 0; p < kVecs; ++p) hn::StoreU(sums[k][p], d, out + k * columns + p * kLanes);
  }
}

/// Each column times each vector of rows, from the first row to the last.
template <class Piece>
HWY_INLINE void products_of_columns(size_t rows, size_t columns, const Piece& piece, const float* vectors, size_t given,
                                    float* out, size_t wanted) {
  const size_t count = std::min(vectors_in(given, rows), vectors_in(wanted, columns));
  std::fill(out, out + wanted, 0.0f);
  const float* pieces[kSlots];
  for (size_t r = 0; r < rows; r += kSlots) {
    const size_t slots = std::min(kSlots, rows - r);
    for (size_t c = 0; c < columns; c += kPiece) {
      const size_t size = std::min(kPiece, columns - c);
      for (size_t s = 0; s < slots; ++s) pieces[s] = piece(s, (r + s) * columns + c, size);
      size_t i = 0;
      for (; i + kSumOf <= size; i += kSumOf) {
        size_t k = 0;
        for (; k + kAtOnce <= count; k += kAtOnce)
          add_rows<kAtOnce>(pieces, slots, i, vectors + k * rows + r, rows, out + k * columns + c + i, columns);
        for (; k < count; ++k)
          add_rows<1>(pieces, slots, i, vectors + k * rows + r, rows, out + k * columns + c + i, columns);
      }
      for (; i < size; ++i) {
        for (size_t k = 0; k < count; ++k) {
          float& sum = out[k * columns + c + i];
          for (size_t s = 0; s < slots; ++s) {
            const float product = pieces[s][i] * vectors[k * rows + r + s];
            sum = sum + product;
          }
        }
      }
    }
  }
}

/// out += factors[k] * vectors[k] for kCount of them, one after the other.
template <size_t kCount>
HWY_INLINE void add_multiples(const float* factors, const float* vectors, size_t stride, size_t count, float* out) {
  const F32 d;
  VecF factor[kCount];
  for (size_t k = 0; k < kCount; ++k) factor[k] = hn::Set(d, factors[k]);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    VecF sum = hn::LoadU(d, out + i);
    for (size_t k = 0; k < kCount; ++k) sum = hn::Add(sum, hn::Mul(factor[k], hn::LoadU(d, vectors + k * stride + i)));
    hn::StoreU(sum, d, out + i);
  }
  for (; i < count; ++i) {
    for (size_t k = 0; k < kCount; ++k) {
      const float product = factors[k] * vectors[k * stride + i];
      out[i] = out[i] + product;
    }
  }
}

/// The matrix that is the sum of the products of vectors of rows and of columns. It is nowhere: prepare() computes a
/// piece of a row, whose elements it then has.
struct Outer {
  const float* left = nullptr;
  const float* right = nullptr;
  size_t rows = 0, columns = 0, count = 0;
  float* tile = nullptr;  ///< room for a piece, and for the left vectors' elements of a row
  size_t begin = 0;

  HWY_INLINE float operator()(size_t i) const { return tile[i - begin]; }

  HWY_INLINE void write(size_t first, size_t size, float* out) const {
    const size_t r = first / columns, c = first % columns;
    float* const factors = tile + kPiece;
    for (size_t k = 0; k < count; ++k) factors[k] = left[k * rows + r];
    std::fill(out, out + size, 0.0f);
    size_t k = 0;
    for (; k + kAtOnce <= count; k += kAtOnce)
      add_multiples<kAtOnce>(factors + k, right + k * columns + c, columns, size, out);
    for (; k < count; ++k) add_multiples<1>(factors + k, right + k * columns + c, columns, size, out);
  }
  HWY_INLINE void prepare(size_t first, size_t size) {
    begin = first;
    write(first, size, tile);
  }
};

inline Outer outer_product(size_t rows, size_t columns, const float* left, size_t of_left, const float* right,
                           size_t of_right, Workspace& memory) {
  const size_t count = std::min(vectors_in(of_left, rows), vectors_in(of_right, columns));
  return {left, right, rows, columns, count, taken<float>(kPiece + count, memory), 0};
}

/// Calls body(first, count) for each piece of each row.
template <class Body>
HWY_INLINE void for_pieces(size_t rows, size_t columns, const Body& body) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; c += kPiece) body(r * columns + c, std::min(kPiece, columns - c));
  }
}

// Arrays of generated text: objects that return element i.

/// An array in memory.
template <class T>
struct Stored {
  const T* data = nullptr;
  HWY_INLINE T operator()(size_t i) const { return data[i]; }
};

template <class T, class A>
HWY_INLINE void store(size_t first, size_t count, const A& array, T* out) {
  for (size_t i = 0; i < count; ++i) out[i] = array(first + i);
}
/// Copies floats, unless source and destination are the same.
inline void copy(const float* from, size_t count, float* to) {
  if (from != to && count != 0) std::memcpy(to, from, count * sizeof(float));
}

template <class A>
HWY_INLINE auto picked(size_t count, const A& array, uint32_t i) -> decltype(array(0)) {
  return i < count ? array(i) : decltype(array(0)){};
}

/// Calls reduce(count, array) for each vector; for vectors that do not exist the count is 0.
template <class T, class A, class Reduce>
HWY_INLINE void reduce_vectors(size_t count, size_t length, const A& array, size_t vectors, T* out,
                               const Reduce& reduce) {
  for (size_t k = 0; k < vectors; ++k) {
    const size_t first = std::min(k * length, count);
    out[k] = reduce(std::min(length, count - first), [&](size_t i) HWY_ATTR { return array(first + i); });
  }
}

/// Gram and Schmidt's method, in place.
inline void orthonormalize(float* vectors, size_t size, size_t length, Workspace& memory) {
  constexpr double kLeastLeft = 0x1p-20;
  const size_t count = vectors_in(size, length);
  double* const rest = taken<double>(length, memory);
  const auto dot = [&](const auto& other) HWY_ATTR {
    double lanes[kSumOf] = {};
    size_t i = 0;
    for (; i + kSumOf <= length; i += kSumOf) {
      for (size_t lane = 0; lane < kSumOf; ++lane) {
        const double product = static_cast<double>(other[i + lane]) * rest[i + lane];
        lanes[lane] = lanes[lane] + product;
      }
    }
    for (size_t lane = 0; i + lane < length; ++lane) {
      const double product = static_cast<double>(other[i + lane]) * rest[i + lane];
      lanes[lane] = lanes[lane] + product;
    }
    return sum_of_lanes(lanes);
  };
  for (size_t k = 0; k < count; ++k) {
    float* const vector = vectors + k * length;
    for (size_t i = 0; i < length; ++i) rest[i] = static_cast<double>(vector[i]);
    const double before = std::sqrt(dot(rest));
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < k; ++j) {
        const float* const other = vectors + j * length;
        const double along = dot(other);
        for (size_t i = 0; i < length; ++i) {
          const double part = along * static_cast<double>(other[i]);
          rest[i] = rest[i] - part;
        }
      }
    }
    const double after = std::sqrt(dot(rest));
    if (!std::isfinite(before) || !std::isfinite(after)) {
      std::fill(vector, vector + length, std::numeric_limits<float>::quiet_NaN());
    } else if (after > before * kLeastLeft) {
      for (size_t i = 0; i < length; ++i) vector[i] = static_cast<float>(rest[i] / after);
    } else {
      std::fill(vector, vector + length, 0.0f);
    }
  }
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
