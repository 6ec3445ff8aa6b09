// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "compll/codec/tile_codec.h"

namespace casync::compll {

/// Codec::merge where what becomes of an element depends on its contributions' bits alone: as many cases as there are
/// combinations of these are decoded, added and encoded, the rest goes by words. The same bytes. Nothing: it is not to
/// be merged so, and nothing has been written. Both codecs have to say bit_places(), nothing is kept, contributions are
/// codes, few of them, and elements are many.
std::optional<Encoded> merge_bits(const TileCodec& first, std::span<const Contribution> contributions, Elements n,
                                  float scale, const TileCodec& second, Residual residual, const EncodeContext& context,
                                  std::byte* payload);

}  // namespace casync::compll
