// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "base/units.h"
#include "base/view.h"
#include "runtime/transport/held_memory.h"
#include "runtime/transport/pool.h"

namespace casync::runtime {

struct FusedStaging;

/// A message of UCX that is kept for its pieces: its own data, or memory of ours that it was fetched into.
struct KeptMessage {
  void* data = nullptr;
  FusedStaging* staging = nullptr;
  Rank from = 0;
  Bytes bytes = 0;  ///< of our memory: none when it is only announced
};

/// The pieces that wait for a place, and the messages that they are in. Invariant: a message is kept as long as a piece
/// of it is held; then it is released, or UCX has taken it back.
class HeldPieces {
 public:
  struct Message : KeptMessage {
    std::size_t users = 0;
  };
  struct Piece {
    Message* message = nullptr;
    ConstView eager;  ///< the piece, when it is in memory
    bool announced = false;
  };
  /// `release` gives a message's data or staging back. Borrows the count of its memory.
  HeldPieces(HeldMemory& memory, std::function<void(const KeptMessage&)> release)
      : memory_(memory), release_(std::move(release)) {}

  /// The next take() and keep() allocate nothing.
  void make_ready() {
    pieces_.make_ready();
    messages_.make_ready();
  }
  Piece* take() { return pieces_.take(); }
  /// It is not held after all.
  void give(Piece* piece) { pieces_.give(piece); }

  /// Keeps a message; hold() follows.
  Message* keep(const KeptMessage& message);
  void hold(Piece& piece, Message& message, ConstView eager, bool announced);

  /// The piece is held no more; its message waits for release() or forget().
  Piece take_out(Piece* piece) {
    const Piece taken = *piece;
    pieces_.give(piece);
    return taken;
  }
  /// One piece less is in the message; it goes with its last one.
  void release(Message& message);
  /// UCX has the message back.
  void forget(Message& message) { messages_.give(&message); }

 private:
  HeldMemory& memory_;
  std::function<void(const KeptMessage&)> release_;
  Pool<Message> messages_;
  Pool<Piece> pieces_;
};

}  // namespace casync::runtime
