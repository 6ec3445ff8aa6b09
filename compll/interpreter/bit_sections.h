// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "compll/codec/sections.h"
#include "compll/lang/arithmetic.h"

namespace casync::compll {

/// Writes elements, without their bits above `bits`, and zeros after the last one.
void write_section(const SectionPlace& place, std::span<const Scalar> elements, std::byte* payload);

/// Reads elements of this type: those of signed integers keep their sign.
std::vector<Scalar> read_section(const SectionPlace& place, ScalarType type, ConstView payload);

}  // namespace casync::compll
