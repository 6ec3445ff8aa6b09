// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "base/view.h"
#include "compll/ops/code_tile.h"

namespace casync::compll {

/// Calls decode(tiles, is_first) with the payloads' code tiles, some at a time and in order: their scales and codes
/// start at these offsets.
template <class Decode>
void for_code_tiles(std::span<const ConstView> payloads, Bytes scales, Bytes codes, const Decode& decode) {
  constexpr std::size_t kSome = 8;  // on the stack
  std::array<CodeTile, kSome> tiles;
  for (std::size_t i = 0; i < payloads.size(); i += kSome) {
    const std::size_t size = std::min(kSome, payloads.size() - i);
    for (std::size_t k = 0; k < size; ++k) tiles[k] = {payloads[i + k].data + scales, payloads[i + k].data + codes};
    decode(std::span<const CodeTile>(tiles.data(), size), i == 0);
  }
}

}  // namespace casync::compll
