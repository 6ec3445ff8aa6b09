// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// Memory for a tile, the calling thread's own: aligned to 64 bytes, kept for its next call, so that no call after a
/// thread's first allocates.
float* tile_memory(Elements count);

/// kStream when `out` is aligned for it and so large that it would push everything else out of the caches.
Write write_mode(const float* out, Elements n);

/// Makes streamed stores visible to other threads before the caller tells them. To be called once, at the end.
void finish_writes(Write mode);

}  // namespace casync::compll
