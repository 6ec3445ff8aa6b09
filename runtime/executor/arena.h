// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "base/view.h"
#include "casync/graph/layout.h"
#include "runtime/device/device.h"

namespace casync::runtime {

/// Memory for encoded partitions, taken from the device once and cut into the slots of a Layout. There are as
/// many slots as buffers could be alive at once, so a slot is always there; the one given back last is given out
/// first, so in practice a few slots serve all and stay in cache, and the rest are never touched.
///
/// Threads: one (the executor's progress thread); add() ahead of that thread's use of the new slots.
class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}

  /// Room for the buffers of more graphs. Unavailable: no memory, with the amount.
  Status add(const Layout& layout);

  /// A slot of `bytes` bytes, one of a size that add() has made room for.
  View take(Bytes bytes);
  void give_back(View slot);

  Bytes reserved() const { return reserved_; }

 private:
  struct Slots {
    Bytes bytes = 0;
    std::size_t total = 0;
    std::vector<std::byte*> free;
  };
  Slots& of_size(Bytes bytes);

  Device& device_;
  std::vector<Slots> classes_;  // by size, ascending
  std::vector<std::unique_ptr<DeviceBuffer>> blocks_;
  Bytes reserved_ = 0;
};

}  // namespace casync::runtime
