// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/coded/coded_block.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "compll/codec/coded/bit_stream.h"

namespace casync::compll {
namespace {

template <class T>
void widen(const std::byte* plain, Elements count, std::uint32_t* elements) {
  for (Elements i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, plain + i * sizeof element, sizeof element);
    elements[i] = element;
  }
}

template <class T>
void narrow(const std::uint32_t* elements, Elements count, std::byte* plain) {
  for (Elements i = 0; i < count; ++i) {
    const T element = static_cast<T>(elements[i]);
    std::memcpy(plain + i * sizeof element, &element, sizeof element);
  }
}

}  // namespace

void unpack_plain(const CodedElements& block, const std::byte* plain, std::uint32_t* elements) {
  switch (block.bits) {
    case 8: return widen<std::uint8_t>(plain, block.count, elements);
    case 16: return widen<std::uint16_t>(plain, block.count, elements);
    case 32: return widen<std::uint32_t>(plain, block.count, elements);
    default: break;
  }
  const Bytes bytes = block.plain_bytes();
  Elements i = 0;
  for (; i < block.count && i * block.bits / 8 + sizeof(std::uint64_t) <= bytes; ++i) {
    std::uint64_t word;
    std::memcpy(&word, plain + i * block.bits / 8, sizeof word);
    elements[i] = static_cast<std::uint32_t>(word >> (i * block.bits % 8) & low_ones(block.bits));
  }
  for (; i < block.count; ++i) elements[i] = plain_element(plain, block.bits, i);
}

void pack_plain(const CodedElements& block, const std::uint32_t* elements, std::byte* plain) {
  switch (block.bits) {
    case 8: return narrow<std::uint8_t>(elements, block.count, plain);
    case 16: return narrow<std::uint16_t>(elements, block.count, plain);
    case 32: return narrow<std::uint32_t>(elements, block.count, plain);
    default: break;
  }
  std::array<std::byte, kCodedBlock * sizeof(std::uint32_t) + sizeof(std::uint64_t)> packed;
  BitWriter bits(packed.data());
  for (Elements i = 0; i < block.count; ++i) bits.put(elements[i] & low_ones(block.bits), block.bits);
  std::memcpy(plain, packed.data(), bits.finish());
}

Bytes write_coded_block(const CodedElements& block, const std::byte* plain, std::byte* out) {
  switch (block.coding) {
    case Coding::kPlain: return 0;
    case Coding::kPacked:
    case Coding::kPackedFloats: return write_packed(block, plain, out);
    case Coding::kRising: return write_rising(block, plain, out);
    case Coding::kElias:
    case Coding::kEliasSigned: return write_elias(block, plain, out);
  }
  CASYNC_CHECK(false);
  return 0;
}

Elements different_in(const CodedElements& block, ConstView code) {
  switch (block.coding) {
    case Coding::kPacked:
    case Coding::kPackedFloats: return different_in_packed(code);
    case Coding::kRising: return different_in_rising(code);
    case Coding::kPlain:
    case Coding::kElias:
    case Coding::kEliasSigned: break;
  }
  return block.count;
}

bool check_coded_block(const CodedElements& block, ConstView code) {
  switch (block.coding) {
    case Coding::kPlain: return false;
    case Coding::kPacked:
    case Coding::kPackedFloats: return check_packed(block, code);
    case Coding::kRising: return check_rising(block, code);
    case Coding::kElias:
    case Coding::kEliasSigned: return check_elias(block, code);
  }
  return false;
}

void read_coded_block(const CodedElements& block, ConstView code, std::byte* plain) {
  switch (block.coding) {
    case Coding::kPlain: break;
    case Coding::kPacked:
    case Coding::kPackedFloats: return read_packed(block, code, plain);
    case Coding::kRising: return read_rising(block, code, plain);
    case Coding::kElias:
    case Coding::kEliasSigned: return read_elias(block, code, plain);
  }
  CASYNC_CHECK(false);
}

}  // namespace casync::compll
