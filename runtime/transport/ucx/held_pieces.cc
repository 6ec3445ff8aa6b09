// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/held_pieces.h"

namespace casync::runtime {

HeldPieces::Message* HeldPieces::keep(const KeptMessage& message) {
  Message* const kept = messages_.take();
  *kept = {message, 0};
  return kept;
}

// The first piece brings the message's bytes, which may fail its peer: the piece is held by then.
void HeldPieces::hold(Piece& piece, Message& message, ConstView eager, bool announced) {
  piece = {&message, eager, announced};
  if (message.users++ == 0) memory_.keep(message.from, message.bytes);
}

void HeldPieces::release(Message& message) {
  if (--message.users != 0) return;
  release_(message);
  memory_.release(message.from, message.bytes);
  messages_.give(&message);
}

}  // namespace casync::runtime
