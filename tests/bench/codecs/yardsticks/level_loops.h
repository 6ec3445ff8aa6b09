// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "compll/ops/code_tile.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// Bits of a code: two's complement, the low nibble first.
enum class LevelBits : unsigned char { k4 = 4, k8 = 8 };

/// The scales and codes of a tile. The tile starts at a block.
struct LevelTile {
  Elements count = 0;
  Elements block = 0;  ///< a power of two, at least 16
  std::byte* scales = nullptr;
  std::byte* codes = nullptr;
};

/// Per block: scale = largest magnitude / (127 or 7), codes = p / scale rounded to nearest even; residual_out, when
/// null, is p - code * scale. Returns true if all of p is finite: a block that is not has scale NaN and codes 0.
/// `scratch` holds the tile rounded up to 16 elements, aligned to 64 bytes; it may be source.values.
/// Meaning: tests/compll/support/reference/levels.h. Moves 12 + bits / 8 bytes per element.
bool encode_levels(LevelBits bits, const LevelTile& tile, const Scaled& source, float* scratch, float* residual_out,
                   Write mode);

/// out = the sum of the tiles' elements in their order, or out += each of them in their order.
void decode_levels(LevelBits bits, std::span<const CodeTile> tiles, Elements block, Elements count, float* out,
                   Write mode);

}  // namespace casync::compll
