// SPDX-License-Identifier: Apache-2.0
//
// Sections of -1, 0 and 1, five in a byte: a + 3 b + 9 c + 27 d + 81 e of five elements, of which -1 counts as 2.
#pragma once

#include "base/units.h"

namespace casync::compll {

/// The width that sections of trits have, in place of the bits of an element.
inline constexpr unsigned kTrits = 243;

/// The place values of five elements in their byte.
inline constexpr unsigned kTritPlaces[5] = {1, 3, 9, 27, 81};

/// Bits of an element in a section of many.
constexpr double bits_per_element(unsigned bits) { return bits == kTrits ? 8.0 / 5 : bits; }

/// Bytes of a section of so many elements.
constexpr Bytes bytes_of_section(unsigned bits, Elements count) {
  return bits == kTrits ? (count + 4) / 5 : (count * bits + 7) / 8;
}

/// The index of the byte in which element `first` begins.
constexpr Bytes byte_of_element(unsigned bits, Elements first) { return bits == kTrits ? first / 5 : first * bits / 8; }

}  // namespace casync::compll
