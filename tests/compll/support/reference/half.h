// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace casync::compll::reference {

/// `value` as the nearest float16 or bfloat16, ties to even, by the definition of the formats rather than by bits.
std::uint16_t encode_half(DType dtype, float value);

/// The number that `code` stands for.
float decode_half(DType dtype, std::uint16_t code);

}  // namespace casync::compll::reference
