// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/dtype.h"
#include "compll/ops/code_tile.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// codes = p rounded to nearest even as float16 or bfloat16, little-endian, at any address; residual_out = p - codes
/// when not null (it may be source.values or source.residual). NaN stays NaN, quiet; too large becomes infinite.
/// Says whether all codes are finite. Meaning: tests/compll/support/reference/half.h. Moves 6 bytes per element, 14
/// with a residual.
bool encode_half(DType dtype, const Scaled& source, Elements count, std::byte* codes, float* residual_out, Write mode);

/// out = the sum of the tiles' elements in their order, or out += each of them in their order.
void decode_half(DType dtype, std::span<const CodeTile> tiles, Elements count, float* out, Write mode);

}  // namespace casync::compll
