// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "compll/codec/codec.h"

namespace casync::compll {

/// Codec::merge for any two codecs: the sum of all elements in memory, then its encoding.
Encoded merge_whole(const Codec& first, std::span<const Contribution> contributions, Elements n, float scale,
                    const Codec& second, Residual residual, const EncodeContext& context, std::byte* payload);

}  // namespace casync::compll
