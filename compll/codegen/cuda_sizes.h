// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compll/codegen/writer.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Text for the sizes that a program computes, members size_0 and so on of Lengths, and for how many elements a tile
/// has: whole blocks of all sizes, at least `tile`, of which the five trits of a byte are one.
void write_cuda_sizes(const Program& program, const std::string& tile, Writer& out, Diagnostics& diagnostics);

/// The kernel casync_NAME_sizes: which members of Sizes it sets, and to what.
void write_sizes_kernel(const std::string& codec, const std::vector<std::pair<std::string, std::string>>& members,
                        Writer& out);

}  // namespace casync::compll
