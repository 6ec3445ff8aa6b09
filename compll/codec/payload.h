// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstring>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"

namespace casync::compll {

static_assert(std::endian::native == std::endian::little, "payload sections are stored as they lie in memory");

inline constexpr Bytes kHeaderBytes = 16;
inline constexpr Bytes kSectionAlignment = 16;

/// Where the parts of a payload lie: a header, then one entry per block (scales or means), then the codes. Each
/// section starts at a multiple of 16, what is between is zero, and the payload ends with the last byte of codes.
/// A function of n and of the codec's parameters alone, so a receiver knows the size before the first byte arrives.
struct PayloadLayout {
  std::uint8_t codec = 0, version = 1;
  std::uint16_t program = 0;  ///< of a codec from a file: fingerprint_of its digest
  Elements n = 0, block = 1;
  Elements blocks = 0;  ///< entries of the scales section
  Bytes scales_end = kHeaderBytes;
  Bytes codes = kHeaderBytes;  ///< where the codes start
  Bytes size = kHeaderBytes;

  /// Of a codec that is part of the library.
  static PayloadLayout of(std::uint8_t codec, std::uint8_t version, Elements n, Elements block, Bytes bytes_per_block,
                          unsigned bits_per_code);
};

/// What a payload says of the program in a file: 0 for a digest of 0 only, which is that of no file.
inline std::uint16_t fingerprint_of(std::uint64_t digest) {
  const auto folded = static_cast<std::uint16_t>(digest >> 48);
  return digest != 0 && folded == 0 ? 1 : folded;
}

/// Writes the header alone.
void write_header(const PayloadLayout& layout, bool finite, std::byte* payload);

/// Writes the header and the zeros between the sections.
void write_frame(const PayloadLayout& layout, bool finite, std::byte* payload);

/// What the header says of NaN and infinity.
struct PayloadFlags {
  bool finite = true;
};

/// DataLoss unless the size and the header are those of `layout`. Reads nothing beyond the payload.
Result<PayloadFlags> check_header(const PayloadLayout& layout, ConstView payload);

/// DataLoss unless the header, the size and the zeros are those of `layout`. Reads nothing beyond the payload.
Result<PayloadFlags> check_frame(const PayloadLayout& layout, ConstView payload);

/// DataLoss unless the bits behind the last code, in the payload's last byte, are zero.
Status check_padding(const PayloadLayout& layout, ConstView payload, std::size_t code_bits);

/// A float at any address.
inline float load_float(const std::byte* at) {
  float value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace casync::compll
