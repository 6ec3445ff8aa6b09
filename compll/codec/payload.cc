// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/payload.h"

#include <algorithm>
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

PayloadLayout PayloadLayout::of(std::uint8_t codec, std::uint8_t version, Elements n, Elements block,
                                Bytes bytes_per_block, unsigned bits_per_code) {
  PayloadLayout layout{codec, version, 0, n, block, bytes_per_block == 0 ? 0 : ceil_div(n, block)};
  layout.scales_end = kHeaderBytes + layout.blocks * bytes_per_block;
  layout.codes = round_up(layout.scales_end, kSectionAlignment);
  layout.size = layout.codes + ceil_div(n * bits_per_code, 8);
  return layout;
}

void write_header(const PayloadLayout& layout, bool finite, std::byte* payload) {
  const Header header = header_of(layout, finite);
  std::memcpy(payload, &header, sizeof header);
}

void write_frame(const PayloadLayout& layout, bool finite, std::byte* payload) {
  write_header(layout, finite, payload);
  std::memset(payload + layout.scales_end, 0, layout.codes - layout.scales_end);
}

Result<PayloadFlags> check_header(const PayloadLayout& layout, ConstView payload) {
  if (payload.size != layout.size) return differs("its size in bytes", payload.size, layout.size);
  Header seen;
  std::memcpy(&seen, payload.data, sizeof seen);
  const Header expected = header_of(layout, true);
  if (seen.magic != expected.magic) return differs("the magic number", seen.magic, expected.magic);
  if (seen.codec != expected.codec) return differs("the codec's number", seen.codec, expected.codec);
  if (seen.version != expected.version) return differs("the layout's version", seen.version, expected.version);
  if (seen.log2_block != expected.log2_block) return differs("log2(block)", seen.log2_block, expected.log2_block);
  if (seen.n != expected.n) return differs("the number of elements", seen.n, expected.n);
  if ((seen.flags & ~kNonFinite) != 0) return differs("an unknown flag", seen.flags, 0);
  if (seen.program != expected.program)
    return differs("the fingerprint of the program", seen.program, expected.program);
  return PayloadFlags{(seen.flags & kNonFinite) == 0};
}

Result<PayloadFlags> check_frame(const PayloadLayout& layout, ConstView payload) {
  Result<PayloadFlags> flags = check_header(layout, payload);
  if (!flags) return flags;
  const bool zeros = std::all_of(payload.data + layout.scales_end, payload.data + layout.codes,
                                 [](std::byte b) { return b == std::byte{0}; });
  if (!zeros) return data_loss("payload: the bytes between scales and codes are not zero");
  return flags;
}

Status check_padding(const PayloadLayout& layout, ConstView payload, std::size_t code_bits) {
  const unsigned used = code_bits % 8;
  if (used == 0 || std::to_integer<unsigned>(payload.data[layout.size - 1]) >> used == 0) return Status::ok();
  return data_loss("payload: the bits behind the last code are not zero");
}

}  // namespace casync::compll
