// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/units.h"

namespace casync {

/// How many of the messages that are ready for one peer leave together as one wire message: the first always,
/// and those behind it while their sum is at most `fusion_bytes`. `ready` holds their sizes in priority order;
/// none is overtaken to fill a message. 0 only when nothing is ready; 1 at most when fusion_bytes is 0.
std::size_t fused_count(std::span<const Bytes> ready, Bytes fusion_bytes);

}  // namespace casync
