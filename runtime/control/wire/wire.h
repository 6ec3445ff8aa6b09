// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace casync::runtime {

/// Builds what goes over a control connection: little-endian integers, texts with their length before them.
class WireWriter {
 public:
  WireWriter& u8(std::uint8_t value) { return integer(value, 1); }
  WireWriter& u32(std::uint32_t value) { return integer(value, 4); }
  WireWriter& u64(std::uint64_t value) { return integer(value, 8); }
  WireWriter& raw(std::string_view bytes);
  WireWriter& text(std::string_view bytes);
  std::string take() { return std::move(bytes_); }

 private:
  WireWriter& integer(std::uint64_t value, int bytes);
  std::string bytes_;
};

/// Takes it apart again. What is missing or too long reads as zero or "" and clears ok(); nothing is read past
/// the end, and nothing is allocated on the word of a length.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  explicit WireReader(std::string&&) = delete;  ///< the bytes must outlive their reader
  std::uint8_t u8() { return static_cast<std::uint8_t>(integer(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
  std::uint64_t u64() { return integer(8); }
  std::string_view raw(Bytes count);
  std::string_view text(Bytes most);
  std::string_view rest() { return raw(bytes_.size()); }
  bool ok() const { return ok_; }
  /// Everything was there and nothing is left over.
  bool done() const { return ok_ && bytes_.empty(); }

 private:
  std::uint64_t integer(int bytes);
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace casync::runtime
