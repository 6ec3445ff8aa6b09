// SPDX-License-Identifier: Apache-2.0
//
// NVRTC compiles this header: it has no standard library.
#pragma once

namespace casync::compll {

/// The form that a section's elements have in a payload. Every form can hold every sequence of elements, so it changes
/// the size of a payload and nothing else (docs/payloads.md).
enum class Coding : unsigned char {
  kPlain,         ///< one after the other, `bits` each: the size depends on their number alone
  kPacked,        ///< byte planes, the frequent values of a byte in few bits
  kPackedFloats,  ///< the same of float32, with the exponent as a byte of its own
  kRising,        ///< places in ascending order: their distances by Rice's code
  kElias,         ///< whole numbers, small ones in few bits: Elias' gamma code
  kEliasSigned,   ///< the same where they may be negative
};

}  // namespace casync::compll
