// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix and of vectors, as plain loops: they define the operators and the order of every sum. A matrix
// lies row by row, vectors one after the other. Products and their sums are floats, rounded one by one; sums begin
// with zero. Vectors that are wanted and not given are zeros.
#pragma once

#include <cstddef>
#include <span>

namespace casync::compll {

struct Matrix {
  std::size_t rows = 0, columns = 0;
};

/// Each row times each vector of columns: element r of vector k of `out` is row r times vector k. In 16 lanes, which
/// are then combined in halves, as in a reduction.
void products_of_rows(Matrix matrix, std::span<const float> elements, std::span<const float> vectors,
                      std::span<float> out);

/// Each column times each vector of rows, from the first row to the last.
void products_of_columns(Matrix matrix, std::span<const float> elements, std::span<const float> vectors,
                         std::span<float> out);

/// The matrix whose element in row r and column c is the sum of left[k][r] * right[k][c] over the vectors k, from the
/// first to the last.
void outer_product(Matrix matrix, std::span<const float> left, std::span<const float> right, std::span<float> out);

/// Gram and Schmidt's method, in doubles: from each vector its parts along the earlier ones are taken, one after the
/// other and all of that twice, then it is divided by its norm and rounded. A vector of which less than 2^-20 of its
/// norm is left becomes zero, one whose norm is not finite NaN. Sums are those of a reduction.
void orthonormalize(std::span<float> vectors, std::size_t length);

}  // namespace casync::compll
