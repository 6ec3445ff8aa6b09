// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

/// The memory of a transport that held pieces occupy, by peer. A peer that fills more of it than any job needs is
/// refused. Invariant: the sum of all peers' bytes is held_bytes().
class HeldMemory {
 public:
  using Refuse = std::function<void(Rank from, Status reason)>;
  /// Calls `refuse` with DataLoss each time that a peer has too much after keep().
  HeldMemory(int ranks, Refuse refuse) : refuse_(std::move(refuse)), bytes_(static_cast<std::size_t>(ranks)) {}

  /// Pieces of this peer begin, and cease, to occupy so many bytes.
  void keep(Rank from, Bytes bytes);
  void release(Rank from, Bytes bytes) {
    bytes_[static_cast<std::size_t>(from)] -= bytes;
    held_bytes_ -= bytes;
  }
  /// Bytes that held pieces of all peers together occupy.
  Bytes held_bytes() const { return held_bytes_; }

 private:
  Refuse refuse_;
  std::vector<Bytes> bytes_;  // by rank
  Bytes held_bytes_ = 0;
};

}  // namespace casync::runtime
