// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/units.h"

namespace casync {

/// Fetches memory that is read soon, or written, into the cache: the first KiB, for that is all of a small gradient.
/// Thousands of them are in no cache, and no processor foresees where the next one lies; it does foresee the rest.
template <bool kIsWritten>
void fetch_first(const void* memory, Bytes bytes) {
  constexpr Bytes kLine = 64, kMost = 1_KiB;
  for (Bytes i = 0; i < std::min(bytes, kMost); i += kLine) {
    __builtin_prefetch(static_cast<const char*>(memory) + i, kIsWritten ? 1 : 0);
  }
}

}  // namespace casync
