// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// A pass over all tiles.
struct WrittenPass {
  bool gathers = false;    ///< it goes through blocks several times, so they have to be in the first-level cache
  bool for_kept = false;   ///< it does nothing if nothing is kept
  std::size_t arrays = 0;  ///< arrays of a tile's size for the results of transforms
};

/// Writes struct Tensor, a function for each pass of encode or merge, and the end of the last one. Returns the passes.
/// Throws CannotWrite.
std::vector<WrittenPass> write_encoder(const Program& program, const EncodeGraph& encode, const Lowered& lowered,
                                       Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
