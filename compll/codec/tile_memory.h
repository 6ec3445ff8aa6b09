// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/units.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// Memory for a tile, the calling thread's own: aligned to 64 bytes, kept for its next call, so that no call after a
/// thread's first allocates.
float* tile_memory(Elements count);

/// The same for all elements of a partition, where a codec has to see them at once.
float* partition_memory(Elements count);

/// The same for payloads before their sections are coded, and after they are decoded.
std::byte* image_memory(Bytes bytes);

/// How to write floats that nobody reads for a while. kStream when `out` is aligned for it and n is so large that
/// plain stores would push out of the caches what is read sooner: a residual is read in the next step, when the whole
/// model has passed by; what is decoded may be read at once.
Write residual_mode(const float* out, Elements n);
Write decoded_mode(const float* out, Elements n);

/// Makes streamed stores visible to other threads before the caller tells them. To be called once, at the end.
void finish_writes(Write mode);

}  // namespace casync::compll
