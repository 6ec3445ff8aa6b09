// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/dtype.h"
#include "base/units.h"

namespace casync::compll {

/// out[0..n) = the elements at `in` as float32, exactly. `in` and `out` do not overlap; `in` has any alignment.
void to_float32(DType dtype, const void* in, Elements n, float* out);

/// The elements at `out` = in[0..n) rounded to nearest even. NaN stays NaN, too large a value becomes infinite. Returns
/// false if an element of half precision is not finite; float32 is copied and not looked at.
bool from_float32(const float* in, Elements n, DType dtype, void* out);

/// Returns true if every element of in[0..n) is finite as an element of `dtype`.
bool stays_finite(const float* in, Elements n, DType dtype);

}  // namespace casync::compll
