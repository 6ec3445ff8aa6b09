// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/payload.h"

#include <cstddef>
#include <string>

namespace casync::compll {
namespace {

constexpr std::uint16_t kMagic = 0x4c43;  // "CL"
constexpr std::uint8_t kNonFinite = 1;

struct Header {
  std::uint16_t magic;
  std::uint8_t version, codec, flags, log2_block;
  std::uint16_t program;
  std::uint64_t n;
};
static_assert(sizeof(Header) == kHeaderBytes);

Header header_of(const PayloadLayout& layout, bool finite) {
  const auto log2_block = static_cast<std::uint8_t>(std::countr_zero(layout.block));
  return {kMagic,     layout.version, layout.codec, finite ? std::uint8_t{0} : kNonFinite,
          log2_block, layout.program, layout.n};
}

Status differs(const char* what, std::uint64_t seen, std::uint64_t expected) {
  return data_loss(std::string("payload: ") + what + " is " + std::to_string(seen) + ", expected " +
                   std::to_string(expected));
}

}  // namespace

void write_header(const PayloadLayout& layout, bool finite, std::byte* payload) {
  const Header header = header_of(layout, finite);
  std::memcpy(payload, &header, sizeof header);
}

bool says_finite(const std::byte* header) {
  return (header[offsetof(Header, flags)] & std::byte{kNonFinite}) == std::byte{0};
}

Result<PayloadFlags> check_header(const PayloadLayout& layout, ConstView payload) {
  if (payload.size != layout.size) return differs("its size in bytes", payload.size, layout.size);
  Header seen;
  std::memcpy(&seen, payload.data, sizeof seen);
  const Header expected = header_of(layout, true);
  // All in one, for a bundle has hundreds of payloads. Bytes would have to be loaded again that were stored field by
  // field, which takes longer than all of this.
  const unsigned differing = (seen.magic ^ expected.magic) | (seen.codec ^ expected.codec) |
                             (seen.version ^ expected.version) | (seen.log2_block ^ expected.log2_block) |
                             (seen.program ^ expected.program) | (seen.flags & ~kNonFinite);
  if (differing == 0 && seen.n == expected.n) return PayloadFlags{(seen.flags & kNonFinite) == 0};
  if (seen.magic != expected.magic) return differs("the magic number", seen.magic, expected.magic);
  if (seen.codec != expected.codec) return differs("the codec's number", seen.codec, expected.codec);
  if (seen.version != expected.version) return differs("the layout's version", seen.version, expected.version);
  if (seen.log2_block != expected.log2_block) return differs("log2(block)", seen.log2_block, expected.log2_block);
  if (seen.n != expected.n) return differs("the number of elements", seen.n, expected.n);
  if ((seen.flags & ~kNonFinite) != 0) return differs("an unknown flag", seen.flags, 0);
  return differs("the fingerprint of the program", seen.program, expected.program);
}

}  // namespace casync::compll
