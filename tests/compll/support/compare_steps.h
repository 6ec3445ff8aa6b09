// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codec/rounds_codec.h"

namespace casync::compll::test {

/// Names the first element, after `what`, in which floats differ from what is meant; "" if none does. Any NaN equals
/// any other one.
std::string floats_differ(const std::string& what, const std::vector<float>& meaning, const std::vector<float>& made);

/// Compares a codec of rounds with its meaning: three steps of two ranks, in the last of which a gradient of more than
/// 100 elements is not finite, with all that they exchange, make and keep. Returns the first difference and its place;
/// "" if there is none.
std::string steps_differ(const RoundsCodec& meaning, const RoundsCodec& codec, Elements rows, Elements columns);

}  // namespace casync::compll::test
