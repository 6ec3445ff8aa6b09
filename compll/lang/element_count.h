// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/units.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// How many elements a value of this type has for n elements of the gradient, with these values of the program's
/// parameters.
Elements element_count(const Program& program, const Type& type, std::span<const double> parameters, Elements n);

/// Bits of a payload for each of n elements, header and gaps left out.
double payload_bits(const Program& program, std::span<const double> parameters, Elements n);

}  // namespace casync::compll
