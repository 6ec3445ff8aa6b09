// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/codegen/writer.h"
#include "compll/ir/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// How a pass gets the elements of a tile: one after the other, or all of them in the first-level cache, where it goes
/// through blocks several times.
enum class PassInput { kStreamed, kGathered };

/// struct Tensor, a function for each pass of encode, and what comes behind the last one. Returns the passes. Throws
/// CannotWrite.
std::vector<PassInput> write_encoder(const Program& program, const Lowered& lowered, Writer& out,
                                     Diagnostics& diagnostics);

}  // namespace casync::compll
