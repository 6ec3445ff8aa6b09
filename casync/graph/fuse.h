// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"

namespace casync {

/// Whether a message of `next` bytes, the most urgent that is left, may join messages of together `chosen` bytes in one
/// wire message of at most `fusion_bytes`. Never when fusion_bytes is 0. The first message leaves however large; one
/// that does not fit is not overtaken to fill a message, so that fusing delays nothing urgent.
constexpr bool fuses(Bytes chosen, Bytes next, Bytes fusion_bytes) {
  return fusion_bytes > 0 && chosen <= fusion_bytes && next <= fusion_bytes - chosen;
}

}  // namespace casync
