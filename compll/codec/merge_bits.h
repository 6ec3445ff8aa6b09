// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "compll/codec/tile_codec.h"

namespace casync::compll {

/// Codec::merge for codecs whose result for an element depends on its contributions' bits alone. It decodes, adds and
/// encodes one case for each combination of these bits, and makes the other elements by words of bits: the same bytes.
/// Empty: this merge cannot be made so, and nothing has been written. It can if both codecs have bit_places(), nothing
/// is kept, contributions are codes, few of them, and elements are many.
std::optional<Encoded> merge_bits(const TileCodec& first, std::span<const Contribution> contributions, Elements n,
                                  float scale, const TileCodec& second, Residual residual, const EncodeContext& context,
                                  std::byte* payload);

}  // namespace casync::compll
