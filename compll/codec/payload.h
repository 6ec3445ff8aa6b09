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

/// The fields of a payload's header, and the payload's size. They depend on n and on the codec's parameters alone, so a
/// receiver knows them ahead of the first byte.
struct PayloadLayout {
  std::uint8_t codec = 0, version = 1;
  std::uint16_t program = 0;  ///< of a codec from a file: fingerprint_of its digest
  Elements n = 0, block = 1;
  Bytes size = kHeaderBytes;
};

/// The header's 16 bits for the program in a file: 0 only for a digest of 0, which no file has.
inline std::uint16_t fingerprint_of(std::uint64_t digest) {
  const auto folded = static_cast<std::uint16_t>(digest >> 48);
  return digest != 0 && folded == 0 ? 1 : folded;
}

/// Writes the header alone.
void write_header(const PayloadLayout& layout, bool finite, std::byte* payload);

/// The header's flag for NaN and infinity.
struct PayloadFlags {
  bool finite = true;
};

/// Returns this flag of a payload that was made here. Its header is not checked.
bool says_finite(const std::byte* header);

/// DataLoss unless the size and the header are those of `layout`. Reads nothing beyond the payload.
Result<PayloadFlags> check_header(const PayloadLayout& layout, ConstView payload);

/// A float at any address.
inline float load_float(const std::byte* at) {
  float value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace casync::compll
