// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "compll/codec/coded/coded_block.h"

namespace casync::compll {

/// Reads a coded section bit by bit, as docs/payloads.md describes it. Throws std::runtime_error where it is none.
std::vector<std::uint64_t> plainly_read(const CodedElements& section, const std::vector<std::byte>& bytes);

}  // namespace casync::compll
