// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/bit_sections.h"

#include <algorithm>
#include <cstring>

namespace casync::compll {
namespace {

/// Calls part(byte, first bit of it, number of bits, number of bits so far) for each byte that has some of `count`
/// bits.
template <class Part>
void for_bytes(Elements position, unsigned count, const Part& part) {
  for (unsigned done = 0; done < count;) {
    const auto first = static_cast<unsigned>((position + done) % 8);
    const unsigned bits = std::min(8 - first, count - done);
    part((position + done) / 8, first, bits, done);
    done += bits;
  }
}

static_assert(kTritType.bits == kTrits);

unsigned byte_of(std::span<const Scalar> trits) {
  unsigned byte = 0;
  for (std::size_t i = trits.size(); i-- > 0;) byte = 3 * byte + (trits[i].as_int() < 0 ? 2 : trits[i].as_uint());
  return byte;
}

}  // namespace

void write_section(const SectionPlace& place, std::span<const Scalar> elements, std::byte* payload) {
  std::byte* bytes = payload + place.begin;
  std::memset(bytes, 0, place.bytes());
  for (Elements i = 0; i < place.count && place.bits == kTrits; i += 5) {
    bytes[i / 5] = static_cast<std::byte>(byte_of(elements.subspan(i, std::min<Elements>(5, place.count - i))));
  }
  if (place.bits == kTrits) return;
  for (Elements i = 0; i < place.count; ++i) {
    for_bytes(i * place.bits, place.bits, [&](Elements byte, unsigned first, unsigned bits, unsigned done) {
      bytes[byte] |= static_cast<std::byte>((elements[i].bits >> done & ((1u << bits) - 1)) << first);
    });
  }
}

std::vector<Scalar> read_section(const SectionPlace& place, ScalarType type, ConstView payload) {
  const std::byte* bytes = payload.data + place.begin;
  std::vector<Scalar> elements(place.count);
  for (Elements i = 0; i < place.count && place.bits == kTrits; ++i) {
    const unsigned digit = std::to_integer<unsigned>(bytes[i / 5]) / kTritPlaces[i % 5] % 3;
    elements[i] = Scalar::of_int(digit == 2 ? -1 : static_cast<std::int32_t>(digit));
  }
  if (place.bits == kTrits) return elements;
  for (Elements i = 0; i < place.count; ++i) {
    std::uint64_t bits = 0;
    for_bytes(i * place.bits, place.bits, [&](Elements byte, unsigned first, unsigned some, unsigned done) {
      bits |= std::uint64_t{std::to_integer<unsigned>(bytes[byte]) >> first & ((1u << some) - 1)} << done;
    });
    const bool negative = type.kind == ScalarType::Kind::kInt && (bits & std::uint64_t{1} << place.bits >> 1) != 0;
    if (negative) bits |= ~std::uint64_t{0} << place.bits;
    elements[i] = {type.is_float() ? bits : bits & 0xffffffff};
  }
  return elements;
}

}  // namespace casync::compll
