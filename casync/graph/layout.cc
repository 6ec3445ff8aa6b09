// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/layout.h"

#include <map>

namespace casync {

Layout lay_out(std::span<const TaskGraph* const> graphs, const BufferBytes& bytes_of) {
  std::map<Bytes, std::size_t> slots;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    for (const Buffer& buffer : graphs[g]->buffers()) {
      if (const Bytes bytes = bytes_of(g, buffer)) ++slots[round_up(bytes, kSlotAlignment)];
    }
  }
  Layout layout;
  for (const auto& [slot_bytes, count] : slots) {
    layout.classes.push_back({slot_bytes, count, layout.total_bytes});
    layout.total_bytes += slot_bytes * count;
  }
  return layout;
}

}  // namespace casync
