// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/units.h"

namespace casync {

/// Whether a message of `next` bytes may join messages of together `chosen` bytes in one wire message of at
/// most `fusion_bytes`. Never when fusion_bytes is 0.
constexpr bool fuses(Bytes chosen, Bytes next, Bytes fusion_bytes) {
  return fusion_bytes > 0 && chosen <= fusion_bytes && next <= fusion_bytes - chosen;
}

/// How many of the messages that are ready for one peer leave together: the first always, and those behind it
/// while each fuses() with what was chosen. `ready` holds their sizes in priority order; none is overtaken to
/// fill a message, so that fusing delays nothing urgent. 0 only when nothing is ready.
std::size_t fused_count(std::span<const Bytes> ready, Bytes fusion_bytes);

}  // namespace casync
