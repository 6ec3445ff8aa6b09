// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory_resource>
#include <optional>
#include <utility>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

class InboxRecord;

/// A piece that waits in the transport's own memory or network until its message has a place.
using HeldPiece = void*;

/// A record's entry in the list of its gradient's messages (WaitingMessages), which alone writes it.
class WaitingEntry {
  friend class WaitingMessages;

  bool listed_ = false;
  InboxRecord* next_ = nullptr;
  InboxRecord* previous_ = nullptr;
};

/// A message that has begun to arrive: from its first piece until received(). Its pieces are put together at its place;
/// earlier ones are held. Invariants: a piece is taken once and held once; pieces are held only while there is no
/// place; those under way are missing, too.
class InboxRecord {
 public:
  struct Held {
    HeldPiece piece;
    FrameHeader header;
  };
  InboxRecord(const FrameHeader& first, std::pmr::memory_resource* memory);

  Rank from() const { return from_; }
  const Message& message() const { return message_; }
  /// Returns true if the header describes the same message, cut into the same pieces.
  bool is_described_by(const FrameHeader& header) const;

  /// The message has a place for its payload: as many bytes.
  void place(View view);
  bool is_placed() const { return placed_; }

  /// Only without a place.
  void hold(const FrameHeader& header, HeldPiece piece) { held_.push_back({piece, header}); }
  bool holds(const FrameHeader& header) const;
  const std::pmr::vector<Held>& held() const { return held_; }
  std::pmr::vector<Held> take_held() { return std::exchange(held_, std::pmr::vector<Held>(held_.get_allocator())); }

  /// The place of a piece, which is under way from now on. Nothing if it was taken earlier. Needs the message's place.
  std::optional<View> take(const FrameHeader& header);
  /// A piece that was taken is under way no more. Returns its place.
  View end_piece(const FrameHeader& header);
  /// Keeps the first of its failures.
  void fail(Status status);
  const Status& status() const { return status_; }
  bool is_complete() const { return pieces_missing_ == 0; }
  /// Pieces of it have not come yet: they are neither finished nor under way nor held.
  bool lacks_pieces() const { return pieces_missing_ != pieces_under_way_ + held_.size(); }
  bool is_idle() const { return pieces_under_way_ == 0; }
  /// Nothing is written any more: what is under way does not count.
  void abandon() { pieces_under_way_ = 0; }

  WaitingEntry& waiting_entry() { return waiting_entry_; }

 private:
  Bytes number_of(const FrameHeader& header) const {
    return header.piece_offset == 0 ? 0 : header.piece_offset / stride_;
  }

  Rank from_;
  Message message_;
  Bytes stride_;  // the first piece's: all others must agree
  bool placed_ = false;
  View view_;                   // the whole payload's place
  Bytes pieces_;                // in all
  Bytes pieces_missing_;        // not finished
  Bytes pieces_under_way_ = 0;  // taken and not finished
  Status status_;
  std::pmr::vector<bool> seen_;  // by piece; empty: none was taken
  std::pmr::vector<Held> held_;
  WaitingEntry waiting_entry_;
};

}  // namespace casync::runtime
