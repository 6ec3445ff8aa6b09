// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/units.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// A gradient's size: n elements, which are rows x columns to a codec that declares `shape`.
struct GradientShape {
  GradientShape(Elements elements) : n(elements), rows(elements), columns(1) {}  // NOLINT: most codecs need no more
  GradientShape(Elements row_count, Elements column_count)
      : n(row_count * column_count), rows(row_count), columns(column_count) {}

  Elements of(Dimension dimension) const { return dimension == Dimension::kRows ? rows : columns; }

  Elements n, rows, columns;
};

/// Number of elements of a value of this type for this gradient, with these values of the program's parameters.
Elements element_count(const Program& program, const Type& type, std::span<const double> parameters,
                       const GradientShape& shape);

/// Bits of a payload for each of n elements, header and gaps left out.
double payload_bits(const Program& program, std::span<const double> parameters, Elements n);

}  // namespace casync::compll
