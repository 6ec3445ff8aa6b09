// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "compll/lang/arithmetic.h"

namespace casync::compll {

/// Where a section of a payload lies: `count` elements of `bits` bits, the lowest bits of a byte first, from a multiple
/// of 16 bytes on.
struct SectionPlace {
  unsigned bits = 0;
  Elements count = 0;
  Bytes begin = 0;

  Bytes bytes() const { return (count * bits + 7) / 8; }
  Bytes end() const { return begin + bytes(); }
};

/// Writes elements, whose bits above `bits` are left out, and zeros behind the last one.
void write_section(const SectionPlace& place, std::span<const Scalar> elements, std::byte* payload);

/// Reads elements of this type: those of signed integers keep their sign.
std::vector<Scalar> read_section(const SectionPlace& place, ScalarType type, ConstView payload);

/// Whether the bits behind the last element are zero.
bool ends_in_zeros(const SectionPlace& place, ConstView payload);

}  // namespace casync::compll
