// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/fuse.h"

namespace casync {

std::size_t fused_count(std::span<const Bytes> ready, Bytes fusion_bytes) {
  if (ready.empty()) return 0;
  Bytes chosen = ready[0];
  std::size_t count = 1;
  while (count < ready.size() && fuses(chosen, ready[count], fusion_bytes)) chosen += ready[count++];
  return count;
}

}  // namespace casync
