// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/bit_sections.h"

#include <cstring>

namespace casync::compll {
namespace {

unsigned bit_at(const std::byte* bytes, Elements position) {
  return std::to_integer<unsigned>(bytes[position / 8]) >> (position % 8) & 1u;
}

}  // namespace

void write_section(const SectionPlace& place, std::span<const Scalar> elements, std::byte* payload) {
  std::byte* bytes = payload + place.begin;
  std::memset(bytes, 0, place.bytes());
  for (Elements i = 0; i < place.count; ++i) {
    for (unsigned bit = 0; bit < place.bits; ++bit) {
      const Elements position = i * place.bits + bit;
      bytes[position / 8] |= static_cast<std::byte>((elements[i].bits >> bit & 1u) << (position % 8));
    }
  }
}

std::vector<Scalar> read_section(const SectionPlace& place, ScalarType type, ConstView payload) {
  const std::byte* bytes = payload.data + place.begin;
  std::vector<Scalar> elements(place.count);
  for (Elements i = 0; i < place.count; ++i) {
    std::uint64_t bits = 0;
    for (unsigned bit = 0; bit < place.bits; ++bit) bits |= std::uint64_t{bit_at(bytes, i * place.bits + bit)} << bit;
    const bool negative = type.kind == ScalarType::Kind::kInt && (bits >> (place.bits - 1) & 1u) != 0;
    if (negative) bits |= ~std::uint64_t{0} << place.bits;
    elements[i] = {type.is_float() ? bits : bits & 0xffffffff};
  }
  return elements;
}

bool ends_in_zeros(const SectionPlace& place, ConstView payload) {
  for (Elements position = place.count * place.bits; position < 8 * place.bytes(); ++position) {
    if (bit_at(payload.data + place.begin, position) != 0) return false;
  }
  return true;
}

}  // namespace casync::compll
