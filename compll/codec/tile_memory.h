// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/units.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// Memory for a tile, the calling thread's own: aligned to 64 bytes, and kept for its next call, so that only a
/// thread's first call allocates.
float* tile_memory(Elements count);

/// The same for all elements of a partition, where a codec has to see them at once.
float* partition_memory(Elements count);

/// The same for payloads whose sections are not coded yet, or are decoded already.
std::byte* image_memory(Bytes bytes);

/// The way to write floats that nobody reads for a while: kStream when `out` is aligned for it and n is so large that
/// plain stores would push data that is read sooner out of the caches. A residual is read in the next step, when the
/// whole model has passed by; decoded elements may be read at once.
Write residual_mode(const float* out, Elements n);
Write decoded_mode(const float* out, Elements n);

/// Makes streamed stores visible to the threads that the caller tells of them afterwards. Call it once, at the end.
void finish_writes(Write mode);

}  // namespace casync::compll
