// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "compll/ops/code_tile.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// The means and codes of a tile. The tile starts at a block.
struct SignTile {
  Elements count = 0;
  Elements block = 0;          ///< a power of two from 64 to 65536
  std::byte* above = nullptr;  ///< for each block the mean of its elements >= 0, a float32
  std::byte* below = nullptr;  ///< the same of its elements < 0
  std::byte* codes = nullptr;  ///< one bit per element, the lowest first: p < 0
};

/// Bits and means of p; residual_out, when not null, is p - mean. A mean of nothing is 0. The sums are kept in double
/// in 16 lanes, lane i of a chunk of 4096 taking the elements i, i + 16, ..., and are added up as a tree of halves, as
/// are the sums of chunks: an order that all instruction sets keep, and exact for the two values that a decoded block
/// has. Returns true if all of p is finite: a block that is not has NaN means. `scratch` is that of
/// encode_levels. Meaning: tests/compll/support/reference/signs.h. Moves 12.125 bytes per element.
bool encode_signs(const SignTile& tile, const Scaled& source, float* scratch, float* residual_out, Write mode);

/// out = the sum of the tiles' elements in their order, or out += each of them in their order. The means of
/// elements < 0 lie `between` bytes after the others.
void decode_signs(std::span<const CodeTile> tiles, Bytes between, Elements block, Elements count, float* out,
                  Write mode);

}  // namespace casync::compll
