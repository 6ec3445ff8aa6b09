// SPDX-License-Identifier: Apache-2.0
//
// A section whose size depends on its elements: the sizes of its blocks in bytes (u16 each), then the blocks, one after
// the other. A block begins with a byte: after 0 come the elements as in a section without coding, after 1 their code.
// The table of sizes lets blocks be read in any order, or at once.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "compll/codec/coded/coded_block.h"

namespace casync::compll {

/// Bytes that hold these elements, whatever they are.
Bytes coded_section_bound(const CodedElements& section);

/// Elements that write_coded_section() reads of a section of `count`: the block that the last of those that are
/// `different` is in, and a block behind it.
Elements entries_of_coding(Elements count, Elements different);

/// Writes elements as such a section, and returns its size. All elements behind the first `different` equal the last of
/// those, and only entries_of_coding() are read. At least one is `different` if there are any.
Bytes write_coded_section(const CodedElements& section, const std::byte* plain, Elements different, std::byte* out);

/// Returns the size of the section at the beginning of `from`. DataLoss: there is none of so many elements; says which
/// block is at fault. Reads nothing beyond `from`.
Result<Bytes> check_coded_section(const CodedElements& section, ConstView from);

/// The same of a section that has been checked, by its table alone.
Bytes coded_section_size(const CodedElements& section, const std::byte* from);

/// Returns a number of elements such that all behind them equal the last of them, as the codes of the last blocks say;
/// at least one if there are any. For a section that has been checked.
Elements different_in_section(const CodedElements& section, const std::byte* from);

/// Reads the first `different` elements at least of a section that has been checked, which lie in plain_bytes() bytes
/// if they are all.
void read_coded_section(const CodedElements& section, const std::byte* from, Elements different, std::byte* plain);

}  // namespace casync::compll
