// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/writer.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Text for the sizes that a program computes, size_0 and so on, and for how many elements a tile has: whole blocks of
/// all sizes, at least `tile`, of which the five trits of a byte are one.
void write_cuda_sizes(const Program& program, const std::string& tile, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
