// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/units.h"
#include "casync/graph/task_graph.h"

namespace casync {

/// Slots start on cache lines: no two buffers share one, and wide loads are aligned.
inline constexpr Bytes kSlotAlignment = 64;

/// Equal slots, one after the other.
struct SizeClass {
  Bytes slot_bytes = 0;  ///< a multiple of kSlotAlignment
  std::size_t slots = 0;
  Bytes first = 0;  ///< start of slot 0 in the arena
  bool operator==(const SizeClass&) const = default;
};

/// One arena for the buffers of many graphs.
struct Layout {
  std::vector<SizeClass> classes;  ///< by slot_bytes, ascending
  Bytes total_bytes = 0;
};

/// The bytes that `buffer`, an element of graphs[graph]->buffers(), takes; 0: it needs no memory here.
using BufferBytes = std::function<Bytes(std::size_t graph, const Buffer& buffer)>;

/// Lays out the memory of all graphs of a step: a slot for each buffer, so that a task never waits for memory.
/// With fewer, messages that came early could hold every slot while the one all others wait for finds none.
Layout lay_out(std::span<const TaskGraph* const> graphs, const BufferBytes& bytes_of);

}  // namespace casync
