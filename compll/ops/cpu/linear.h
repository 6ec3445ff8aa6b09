// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "compll/ops/scaled.h"

namespace casync::compll {

/// out = p; says whether all of it is finite. `out` may be source.values. Moves 8 or 12 bytes per element.
bool store_scaled(const Scaled& source, Elements count, float* out, Write mode);

/// out = values.
void copy_values(const float* values, Elements count, float* out, Write mode);

/// out += values.
void add_values(const float* values, Elements count, float* out);

/// out = scale * (sum of the terms in their order) + residual; says whether all of it is finite. `out` may be one of
/// the terms. The sum stays in registers: reads each term once, writes once. At least one term.
bool sum_scaled(std::span<const float* const> terms, float scale, const float* residual, Elements count, float* out,
                Write mode);

}  // namespace casync::compll
