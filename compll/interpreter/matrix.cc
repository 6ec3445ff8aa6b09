// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "compll/interpreter/array_operators.h"

namespace casync::compll {
namespace {

constexpr std::size_t kSumLanes = 16;
constexpr double kLeastLeft = 0x1p-20;

/// The sum of product(0), product(1), ...
template <class Number, class Product>
Number sum_in_lanes(std::size_t count, const Product& product) {
  std::array<Number, kSumLanes> lanes{};
  for (std::size_t i = 0; i < count; ++i) {
    const Number each = product(i);
    lanes[i % kSumLanes] = lanes[i % kSumLanes] + each;
  }
  for (std::size_t half = kSumLanes / 2; half != 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] = lanes[i] + lanes[i + half];
  }
  return lanes[0];
}

std::size_t vectors_in(std::size_t elements, std::size_t length) { return length == 0 ? 0 : elements / length; }

}  // namespace

void products_of_rows(Matrix matrix, std::span<const float> elements, std::span<const float> vectors,
                      std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  const std::size_t count = std::min(vectors_in(vectors.size(), matrix.columns), vectors_in(out.size(), matrix.rows));
  for (std::size_t k = 0; k < count; ++k) {
    const auto vector = vectors.subspan(k * matrix.columns, matrix.columns);
    for (std::size_t r = 0; r < matrix.rows; ++r) {
      const auto row = elements.subspan(r * matrix.columns, matrix.columns);
      out[k * matrix.rows + r] = sum_in_lanes<float>(matrix.columns, [&](std::size_t c) { return row[c] * vector[c]; });
    }
  }
}

void products_of_columns(Matrix matrix, std::span<const float> elements, std::span<const float> vectors,
                         std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  const std::size_t count = std::min(vectors_in(vectors.size(), matrix.rows), vectors_in(out.size(), matrix.columns));
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t r = 0; r < matrix.rows; ++r) {
      for (std::size_t c = 0; c < matrix.columns; ++c) {
        const float product = elements[r * matrix.columns + c] * vectors[k * matrix.rows + r];
        out[k * matrix.columns + c] = out[k * matrix.columns + c] + product;
      }
    }
  }
}

void outer_product(Matrix matrix, std::span<const float> left, std::span<const float> right, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  const std::size_t count = std::min(vectors_in(left.size(), matrix.rows), vectors_in(right.size(), matrix.columns));
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t r = 0; r < matrix.rows; ++r) {
      for (std::size_t c = 0; c < matrix.columns; ++c) {
        const float product = left[k * matrix.rows + r] * right[k * matrix.columns + c];
        out[r * matrix.columns + c] = out[r * matrix.columns + c] + product;
      }
    }
  }
}

void orthonormalize(std::span<float> vectors, std::size_t length) {
  const std::size_t count = vectors_in(vectors.size(), length);
  std::vector<double> rest(length);
  const auto norm = [&] {
    return std::sqrt(sum_in_lanes<double>(length, [&](std::size_t i) { return rest[i] * rest[i]; }));
  };
  for (std::size_t k = 0; k < count; ++k) {
    const auto vector = vectors.subspan(k * length, length);
    std::copy(vector.begin(), vector.end(), rest.begin());
    const double before = norm();
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < k; ++j) {
        const auto other = vectors.subspan(j * length, length);
        const double along =
            sum_in_lanes<double>(length, [&](std::size_t i) { return static_cast<double>(other[i]) * rest[i]; });
        for (std::size_t i = 0; i < length; ++i) {
          const double part = along * static_cast<double>(other[i]);
          rest[i] = rest[i] - part;
        }
      }
    }
    const double after = norm();
    for (std::size_t i = 0; i < length; ++i) {
      vector[i] = after > before * kLeastLeft ? static_cast<float>(rest[i] / after) : 0.0f;
      if (!std::isfinite(before) || !std::isfinite(after)) vector[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

Values matmul(const ArrayCall& call) {
  const std::vector<float> left = floats_of(call.arguments[0]), right = floats_of(call.arguments[1]);
  std::vector<float> product(call.count);
  const Matrix matrix{call.shape.rows, call.shape.columns};
  switch (call.form) {
    case MatmulForm::kOfRows: products_of_rows(matrix, left, right, product); break;
    case MatmulForm::kOfColumns: products_of_columns(matrix, left, right, product); break;
    case MatmulForm::kOuter: outer_product(matrix, left, right, product); break;
  }
  return values_of(product);
}

Values orthonormalize(const ArrayCall& call) {
  std::vector<float> vectors = floats_of(call.arguments.front());
  orthonormalize(vectors, call.block);
  return values_of(vectors);
}

}  // namespace casync::compll
