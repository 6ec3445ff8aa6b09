// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/inbox_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The messages that the client has put off, by gradient, and the numbers of their pieces, by peer. Invariant: a peer's
/// number is that of the pieces that its records hold.
class WaitingMessages {
 public:
  /// `memory` outlives them.
  WaitingMessages(int ranks, std::pmr::memory_resource* memory)
      : pieces_(static_cast<std::size_t>(ranks)), of_gradient_(memory) {}

  void add(InboxRecord& record);
  void remove(InboxRecord& record);
  bool empty() const { return of_gradient_.empty(); }
  /// Adds the messages of all gradients, or those of one: messages of others take no time.
  void add_all(std::vector<InboxRecord*>& to) const;
  void add_of(std::uint64_t gradient, std::vector<InboxRecord*>& to) const;

  /// DataLoss if the peer, or this message, has more pieces here than any job needs; then this one is not held.
  Status hold(InboxRecord& record, const FrameHeader& header, HeldPiece piece);
  /// The pieces that were held of a message; none from now on.
  std::pmr::vector<InboxRecord::Held> take_held(InboxRecord& record);

 private:
  static void add_list(InboxRecord* first, std::vector<InboxRecord*>& to);
  std::size_t& pieces_of(const InboxRecord& record) { return pieces_[static_cast<std::size_t>(record.from())]; }

  std::vector<std::size_t> pieces_;                                   // by rank
  std::pmr::unordered_map<std::uint64_t, InboxRecord*> of_gradient_;  // the first of a list of records
};

}  // namespace casync::runtime
