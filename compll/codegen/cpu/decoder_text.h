// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// Writes struct Decoder: from the sections of one payload to sixteen elements. Returns true if it transforms blocks,
/// so that it returns a part of a tile at a time. Throws CannotWrite.
bool write_decoder(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
