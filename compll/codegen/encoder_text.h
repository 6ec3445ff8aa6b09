// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "compll/codegen/writer.h"
#include "compll/ir/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// struct Tensor, a function for each pass of encode, and what comes behind the last one. Returns how many passes.
/// Throws CannotWrite.
std::size_t write_encoder(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
