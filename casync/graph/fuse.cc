// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/fuse.h"

namespace casync {

std::size_t fused_count(std::span<const Bytes> ready, Bytes fusion_bytes) {
  if (ready.empty()) return 0;
  if (fusion_bytes == 0 || ready[0] > fusion_bytes) return 1;
  Bytes room = fusion_bytes - ready[0];
  std::size_t count = 1;
  while (count < ready.size() && ready[count] <= room) room -= ready[count++];
  return count;
}

}  // namespace casync
