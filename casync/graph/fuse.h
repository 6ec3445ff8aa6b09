// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/units.h"

namespace casync {

/// Most messages in one wire message. Bounds the headers in it where payloads are tiny.
inline constexpr std::size_t kMostFused = 1024;

/// Returns true if a message of `next` bytes, the most urgent that is left, may join `count` messages of together
/// `chosen` bytes in one wire message of at most `fusion_bytes` bytes of payload. With fusion_bytes 0 nothing joins.
/// The first message leaves however large. A message that does not fit is not overtaken, so fusing delays nothing
/// urgent.
constexpr bool fuses(std::size_t count, Bytes chosen, Bytes next, Bytes fusion_bytes) {
  return fusion_bytes > 0 && count < kMostFused && chosen <= fusion_bytes && next <= fusion_bytes - chosen;
}

}  // namespace casync
