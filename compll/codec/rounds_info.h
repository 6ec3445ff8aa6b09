// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/codec/rounds_codec.h"

namespace casync::compll {

/// Rows of the matrix for which CodecInfo::bits_per_element of a codec of rounds is given: as many rows as columns.
inline constexpr Elements kNominalRows = 1024;

/// Bits that a rank hands to all exchanges of such a matrix, for each of its elements.
double nominal_bits(const RoundsCodec& codec);

/// The error for a codec of rounds where a Codec is needed.
Status refuse_rounds(const std::string& name);

}  // namespace casync::compll
