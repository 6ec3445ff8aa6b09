// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compll/codegen/text/writer.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Writes the sizes that a program computes, members size0 and so on of Lengths, and the number of elements in a tile:
/// whole blocks of all sizes, at least `tile`. The five trits of a byte count as a block.
void write_cuda_sizes(const Program& program, const std::string& tile, Writer& out);

/// Writes the kernel casync_NAME_sizes: `members` are the members of Sizes that it sets, and their values.
void write_sizes_kernel(const std::string& codec, const std::vector<std::pair<std::string, std::string>>& members,
                        Writer& out);

}  // namespace casync::compll
