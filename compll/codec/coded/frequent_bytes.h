// SPDX-License-Identifier: Apache-2.0
//
// A sequence of bytes in which few values are frequent, as the exponents of a gradient are. It begins with a byte, the
// width of a code:
//
//   0       one value, which all bytes have
//   8       the bytes as they are
//   1 to 4  2^width - 1 values; the number of bytes that have none of them (u16); a code for each byte, the lowest bits
//           of a byte first, zeros in the end: the index of its value, or 2^width - 1 where it has none; then those
//           bytes, if there are any, as such a sequence, which may not hold a third one with codes
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "base/view.h"
#include "compll/codec/coded/coded_block.h"

namespace casync::compll {

/// Writes a sequence of 1 to kCodedBlock bytes and returns its size: at most count + 1. Eight bytes behind it are
/// written, too. The form is the shortest one with values that are frequent; if of a sequence of more than 512 bytes
/// the first 128 of each quarter are best left as they are, all are.
Bytes write_frequent(const std::uint8_t* bytes, Elements count, std::byte* out);

/// Returns the size of the sequence of `count` bytes at the beginning of `from`; 0: there is none, or it has a value
/// above `most`. Reads nothing beyond `from`.
Bytes check_frequent(ConstView from, Elements count, unsigned most);

/// Reads a sequence that has been checked, and returns its size.
Bytes read_frequent(ConstView from, Elements count, std::uint8_t* bytes);

}  // namespace casync::compll
