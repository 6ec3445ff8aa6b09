// SPDX-License-Identifier: Apache-2.0
//
// A section whose size depends on its elements: the sizes of its blocks in bytes (u16 each), then the blocks, one after
// the other. A block is a byte and what that says: 0, the elements as a section without coding has them; 1, their code.
// The table lets blocks be read in any order, or at once.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "compll/codec/coded/coded_block.h"

namespace casync::compll {

/// Bytes that hold these elements, whatever they are.
Bytes coded_section_bound(const CodedElements& section);

/// Writes plain_bytes() bytes of elements as such a section, and returns its size.
Bytes write_coded_section(const CodedElements& section, const std::byte* plain, std::byte* out);

/// Returns the size of the section at the beginning of `from`. DataLoss: there is none of so many elements; says which
/// block is at fault. Reads nothing beyond `from`.
Result<Bytes> check_coded_section(const CodedElements& section, ConstView from);

/// The same of a section that has been checked, by its table alone.
Bytes coded_section_size(const CodedElements& section, const std::byte* from);

/// Reads a section that has been checked into plain_bytes() bytes.
void read_coded_section(const CodedElements& section, const std::byte* from, std::byte* plain);

}  // namespace casync::compll
