// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "compll/lang/program.h"

namespace casync::compll::test {

/// The sizes at which compiled codecs are compared: the same ones for the same seed.
std::vector<Elements> random_sizes(std::uint64_t seed);

using Payload = std::vector<std::byte>;

/// Returns the place where a payload of n elements is not what is meant; "" if there is none. Any NaN equals any other
/// one.
std::string payload_difference(const Program& program, const Codec& meaning, Elements n, const Payload& is,
                               const Payload& should);

/// Compares a compiled codec with the interpreter: encode in two steps with residual and states, decode, decode onto
/// elements, merge, and what `result` makes, at each size, with inputs that depend on `seed`. Returns what differed
/// first and where; "" if nothing did. Any NaN equals any other one, in sections of floats, states and results.
std::string difference(const Program& program, const Codec& meaning, const Codec& compiled, std::uint64_t seed,
                       std::span<const Elements> sizes);

/// The same of a codec that exchanges within a step: the sizes, and steps of two ranks, for three shapes that depend on
/// `seed`.
std::string difference(const RoundsCodec& meaning, const RoundsCodec& compiled, std::uint64_t seed);

}  // namespace casync::compll::test
