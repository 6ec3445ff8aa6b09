// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compll/codec/codec.h"
#include "compll/lang/program.h"

namespace casync::compll::test {

/// Compares a compiled codec with the interpreter: encode in two steps with residual and states, decode, decode onto
/// elements, merge, and what `result` makes, over several sizes and inputs that depend on `seed`. `most` is the largest
/// size. Returns what differed first and where; "" if nothing did. Any NaN equals any other one, in sections of floats,
/// states and results.
std::string difference(const Program& program, const Codec& meaning, const Codec& compiled, std::uint64_t seed,
                       Elements most);

}  // namespace casync::compll::test
