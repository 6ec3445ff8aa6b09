// SPDX-License-Identifier: Apache-2.0
//
// Bits one after the other, the lowest of a byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/units.h"
#include "base/view.h"

namespace casync::compll {

/// The number whose bits are ones up to `bits`, which is below 64.
constexpr std::uint64_t low_ones(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

/// Writes bits. Up to 7 bytes behind the last one are written, too.
class BitWriter {
 public:
  static constexpr unsigned kMostBits = 56;  ///< of one put()

  explicit BitWriter(std::byte* out) : begin_(out), out_(out) {}

  /// Appends the lowest `bits` of `value`, whose others are zero; at most kMostBits.
  void put(std::uint64_t value, unsigned bits) {
    word_ |= value << used_;
    std::memcpy(out_, &word_, sizeof word_);
    used_ += bits;
    out_ += used_ / 8;
    word_ >>= used_ / 8 * 8;
    used_ %= 8;
  }
  /// Returns the number of bytes, the last one filled with zeros.
  Bytes finish() {
    if (used_ != 0) *out_ = static_cast<std::byte>(word_);
    return bytes();
  }
  /// The number of bytes that finish() would return.
  Bytes bytes() const { return static_cast<Bytes>(out_ - begin_) + (used_ != 0 ? 1 : 0); }

 private:
  std::byte* const begin_;
  std::byte* out_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;  ///< of word_; below 8 between calls
};

/// Reads bits, and nothing beyond `bytes`: zeros follow them.
class BitReader {
 public:
  explicit BitReader(ConstView bytes) : bytes_(bytes) {}

  /// The next 57 bits at least, in the lowest ones of a word.
  std::uint64_t peek() const {
    const Bytes at = position_ / 8;
    std::uint64_t word = 0;
    if (at + sizeof word <= bytes_.size) {
      std::memcpy(&word, bytes_.data + at, sizeof word);
    } else if (at < bytes_.size) {
      std::memcpy(&word, bytes_.data + at, bytes_.size - at);
    }
    return word >> (position_ % 8);
  }
  void skip(unsigned bits) { position_ += bits; }
  /// At most 56.
  std::uint64_t take(unsigned bits) {
    const std::uint64_t value = peek() & low_ones(bits);
    skip(bits);
    return value;
  }
  /// Returns true if all bytes have been read, no more than there are, and what is left of the last one is zero.
  bool at_end() const {
    return ceil_div(position_, Bytes{8}) == bytes_.size &&
           (position_ % 8 == 0 || (peek() & low_ones(8 - position_ % 8)) == 0);
  }
  bool is_beyond() const { return position_ > 8 * bytes_.size; }

 private:
  ConstView bytes_;
  Bytes position_ = 0;  ///< in bits
};

/// Element `i` of a section without coding, as an unsigned number of `bits` bits, at most 32; `bytes` ends with it or
/// later.
inline std::uint32_t plain_element(const std::byte* plain, unsigned bits, Elements i) {
  const Bytes position = i * bits;
  std::uint64_t word = 0;
  std::memcpy(&word, plain + position / 8, (position % 8 + bits + 7) / 8);
  return static_cast<std::uint32_t>(word >> (position % 8) & low_ones(bits));
}

}  // namespace casync::compll
