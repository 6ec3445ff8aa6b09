// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "compll/codec/codec.h"

namespace casync::compll {

/// The most elements of one payload: a program numbers them by `int` (docs/language.md).
inline constexpr Elements kMostElements = Elements{1} << 31;

/// Checks the size of a vector that a codec is to encode or decode. An identity has no payload of its own, and a bound
/// that no number of bytes overflows.
/// InvalidArgument: `elements` is more than the codec has; names the codec, the number and the limit.
Status check_elements(const CodecInfo& info, Elements elements);

}  // namespace casync::compll
