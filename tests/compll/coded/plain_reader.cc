// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/coded/plain_reader.h"

#include <algorithm>
#include <stdexcept>

namespace casync::compll {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

/// Bytes from which everything is taken in order.
class Taker {
 public:
  explicit Taker(Bytes8 bytes) : bytes_(std::move(bytes)) {}

  std::uint64_t bits(unsigned count) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i, ++at_) {
      if (at_ / 8 >= bytes_.size()) throw std::runtime_error("too short");
      value |= std::uint64_t{bytes_[at_ / 8] >> (at_ % 8) & 1u} << i;
    }
    return value;
  }
  std::uint64_t bytes(unsigned count) { return bits(8 * count); }
  void to_byte() {
    while (at_ % 8 != 0) {
      if (bits(1) != 0) throw std::runtime_error("bits behind the last one");
    }
  }
  unsigned zeros() {
    unsigned count = 0;
    while (bits(1) == 0) ++count;
    return count;
  }
  void end() const {
    if (at_ != 8 * bytes_.size()) throw std::runtime_error("too long");
  }
  Bytes8 part(std::size_t count) {
    Bytes8 all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<std::uint8_t>(bytes(1)));
    return all;
  }

 private:
  Bytes8 bytes_;
  std::size_t at_ = 0;
};

Bytes8 frequent(Taker& from, std::size_t count, int depth = 0) {
  const unsigned width = static_cast<unsigned>(from.bytes(1));
  if (width == 0) return Bytes8(count, static_cast<std::uint8_t>(from.bytes(1)));
  if (width == 8) return from.part(count);
  if (width > 4 || depth == 2) throw std::runtime_error("a width");
  const Bytes8 values = from.part((1u << width) - 1);
  const std::size_t others = from.bytes(2);
  std::vector<std::uint64_t> codes;
  for (std::size_t i = 0; i < count; ++i) codes.push_back(from.bits(width));
  from.to_byte();
  const std::uint64_t escape = (1u << width) - 1;
  if (static_cast<std::size_t>(std::count(codes.begin(), codes.end(), escape)) != others)
    throw std::runtime_error("a sum");
  Bytes8 rest;
  if (others != 0) rest = frequent(from, others, depth + 1);
  Bytes8 all;
  std::size_t next = 0;
  for (const std::uint64_t code : codes) all.push_back(code == escape ? rest[next++] : values[code]);
  return all;
}

std::vector<std::uint64_t> packed(Taker& from, const CodedElements& block) {
  std::vector<std::uint64_t> all(block.count);
  const std::size_t count = from.bytes(2);
  if (count > block.count) throw std::runtime_error("a head");
  for (unsigned plane = 0; 8 * plane < block.bits && count != 0; ++plane) {
    const Bytes8 bytes = frequent(from, count);
    for (std::size_t i = 0; i < count; ++i) all[i] |= std::uint64_t{bytes[i]} << (8 * plane);
  }
  for (std::uint64_t& x : all) {
    if (block.bits < 64 && x >> block.bits != 0) throw std::runtime_error("a byte of bits that there are not");
    if (block.coding == Coding::kPackedFloats) x = (x >> 23 & 1) << 31 | x >> 24 << 23 | (x & 0x7fffff);
  }
  return all;
}

std::vector<std::uint64_t> rising(Taker& from, const CodedElements& block) {
  const unsigned rice = static_cast<unsigned>(from.bytes(1));
  const std::size_t count = from.bytes(2);
  if (count > block.count || rice > 31) throw std::runtime_error("a head");
  std::vector<std::uint64_t> all(block.count, 0xffffffffu);
  if (count != 0) all[0] = from.bytes(4);
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t zeros = from.zeros();
    const std::uint64_t distance = zeros == 24 ? from.bits(32) : zeros << rice | from.bits(rice);
    if (zeros > 24) throw std::runtime_error("zeros");
    all[i] = (all[i - 1] + distance + 1) & 0xffffffffu;
  }
  from.to_byte();
  return all;
}

std::vector<std::uint64_t> elias(Taker& from, const CodedElements& block) {
  const std::uint64_t ones = (std::uint64_t{1} << block.bits) - 1;
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < block.count; ++i) {
    const unsigned more = from.zeros();
    if (more > block.bits) throw std::runtime_error("zeros");
    const std::uint64_t x = (std::uint64_t{1} << more | from.bits(more)) - 1;
    if (x > ones) throw std::runtime_error("a number of more bits");
    const std::uint64_t value = block.coding == Coding::kElias ? x : x % 2 == 0 ? x / 2 : ~(x / 2);
    all.push_back(value & ones);
  }
  from.to_byte();
  return all;
}

std::vector<std::uint64_t> read_block(const CodedElements& block, Bytes8 bytes) {
  Taker from(std::move(bytes));
  const std::uint64_t form = from.bytes(1);
  if (form > 1) throw std::runtime_error("a form");
  std::vector<std::uint64_t> all;
  if (form == 0) {
    for (std::size_t i = 0; i < block.count; ++i) all.push_back(from.bits(block.bits));
    from.to_byte();
  } else if (block.coding == Coding::kRising) {
    all = rising(from, block);
  } else if (block.coding == Coding::kElias || block.coding == Coding::kEliasSigned) {
    all = elias(from, block);
  } else {
    all = packed(from, block);
  }
  from.end();
  return all;
}

}  // namespace

std::vector<std::uint64_t> plainly_read(const CodedElements& section, const std::vector<std::byte>& bytes) {
  Bytes8 all;
  for (const std::byte each : bytes) all.push_back(std::to_integer<std::uint8_t>(each));
  Taker from(all);
  std::vector<std::size_t> sizes;
  for (std::size_t first = 0; first < section.count; first += 4096) sizes.push_back(from.bytes(2));
  std::vector<std::uint64_t> elements;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CodedElements block = section;
    block.count = std::min<std::size_t>(4096, section.count - 4096 * i);
    const std::vector<std::uint64_t> some = read_block(block, from.part(sizes[i]));
    elements.insert(elements.end(), some.begin(), some.end());
  }
  from.end();
  return elements;
}

}  // namespace casync::compll
