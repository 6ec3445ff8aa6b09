// SPDX-License-Identifier: Apache-2.0
//
// One block of a coded section, without the byte that tells its form. `plain` is what the section would hold without a
// coding: `bits` for each element, the lowest ones of a byte first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "base/view.h"
#include "compll/ops/coding.h"
#include "compll/ops/trits.h"

namespace casync::compll {

/// Elements of a block; the last one of a section may have fewer. Blocks are independent of each other.
inline constexpr Elements kCodedBlock = 4096;
/// The most bytes that a coding's writer may touch: a code of Elias has up to 65 bits.
inline constexpr Bytes kCodedScratch = kCodedBlock * 65 / 8 + 64;

/// Elements of a coded section.
struct CodedElements {
  Coding coding = Coding::kPlain;
  unsigned bits = 0;
  Elements count = 0;

  Bytes plain_bytes() const { return bytes_of_section(bits, count); }
};

/// Writes the block's code to `out`, which has kCodedScratch bytes, and returns its size; 0: it would not be smaller
/// than `plain`, and part of it may have been written.
Bytes write_coded_block(const CodedElements& block, const std::byte* plain, std::byte* out);

/// Returns true if `code` is the whole code of such a block, in every bit. Reads nothing beyond it.
bool check_coded_block(const CodedElements& block, ConstView code);

/// Reads a block's code, which has been checked, into plain_bytes() bytes.
void read_coded_block(const CodedElements& block, ConstView code, std::byte* plain);

/// Number of elements of a block up to the last one that its coding does not leave out. Left out are zeros (packed) and
/// elements at no place (rising); Elias leaves out none. `code` has been checked.
Elements different_in(const CodedElements& block, ConstView code);

// The codings.
Bytes write_packed(const CodedElements& block, const std::byte* plain, std::byte* out);
bool check_packed(const CodedElements& block, ConstView code);
void read_packed(const CodedElements& block, ConstView code, std::byte* plain);
Elements different_in_packed(ConstView code);
Bytes write_rising(const CodedElements& block, const std::byte* plain, std::byte* out);
bool check_rising(const CodedElements& block, ConstView code);
void read_rising(const CodedElements& block, ConstView code, std::byte* plain);
Elements different_in_rising(ConstView code);
Bytes write_elias(const CodedElements& block, const std::byte* plain, std::byte* out);
bool check_elias(const CodedElements& block, ConstView code);
void read_elias(const CodedElements& block, ConstView code, std::byte* plain);

/// The elements of a block as whole numbers of at most 32 bits, those above `bits` being zero.
void unpack_plain(const CodedElements& block, const std::byte* plain, std::uint32_t* elements);
/// The reverse; writes plain_bytes() bytes and no more.
void pack_plain(const CodedElements& block, const std::uint32_t* elements, std::byte* plain);

}  // namespace casync::compll
