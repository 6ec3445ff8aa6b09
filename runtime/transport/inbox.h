// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "runtime/transport/failed_senders.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/inbox_record.h"
#include "runtime/transport/inbox_records.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/waiting_messages.h"

namespace casync::runtime {

/// A transport's actions on pieces that the inbox has decided about.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// Bring the held piece to `into` and call Inbox::finish, now or later.
  virtual void take_held(HeldPiece piece, InboxRecord* record, const FrameHeader& header, View into) = 0;
  /// The held piece is not wanted.
  virtual void drop_held(HeldPiece piece) = 0;
  /// The client refused a message of this peer, or the peer broke a rule: fail it, but only once this call has
  /// returned.
  virtual void refused(Rank from, Status reason) = 0;
};

/// The receiving half that transports share: asks the client where a message goes, puts its pieces together,
/// checks checksums, reports each placed message exactly once.
///
/// Memory: records come from a pool that grows to the largest number under way and then allocates no more.
class Inbox {
 public:
  enum class Answer : std::uint8_t {
    kTake,  ///< bring the piece to `into`, then finish()
    kHold,  ///< keep it: take_held() or drop_held() follows
    kDrop,  ///< not ours, twice, or of a peer that failed
  };
  struct Arrival {
    Answer answer = Answer::kDrop;
    InboxRecord* record = nullptr;
    View into;  ///< exactly header.piece_bytes bytes
  };

  Inbox(Rank rank, int ranks, std::uint64_t epoch, PieceSource& source);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  void set_client(TransportClient& client) { client_ = &client; }

  /// Returns true if the frame is of this job and from another of its ranks; the caller drops any other.
  bool accepts(const FrameHeader& header) const;

  /// A piece is there. `held` names it in case the answer is kHold.
  Arrival arrive(const FrameHeader& header, HeldPiece held);

  /// The piece lies where arrive() or take_held() said (OK), or never will. Compares the checksum, and calls
  /// received() with the last piece of the message.
  void finish(InboxRecord* record, const FrameHeader& header, Status status);

  /// Asks place() again for each message put off, or for those of one gradient: waiting messages of others take no
  /// time then.
  void retry(std::optional<std::uint64_t> gradient = std::nullopt);
  bool any_put_off() const { return !waiting_.empty(); }

  /// The peer breaks a rule: it fails, if it has not yet. Everything else from it is dropped from now on, without
  /// asking the client.
  void refuse(Rank from, Status reason);

  /// The peer sends nothing more: it fails if a message that was put off gets a place and lacks pieces.
  void leave(Rank from) { left_[static_cast<std::size_t>(from)] = true; }

  /// The peer failed: messages of it that were put off are dropped, placed ones end with `status` as soon as no
  /// piece is under way, later pieces are dropped.
  void fail(Rank from, const Status& status);
  /// fail() for every rank, at the end.
  void fail_all(const Status& status);
  /// Ends also what is under way: the transport promises that nothing is written any more.
  void abandon_all(const Status& status);

  /// A message of this peer is placed and not complete.
  bool has_placed(Rank from) const { return records_.has_placed(from); }
  bool empty() const { return records_.empty(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  bool ask(InboxRecord& record);
  Arrival take(InboxRecord& record, const FrameHeader& header);
  Arrival drop();
  void take_held(InboxRecord& record);
  void drop_held(InboxRecord& record);
  void end(InboxRecord& record, const Status& status);

  Rank rank_;
  int ranks_;
  std::uint64_t epoch_;
  PieceSource& source_;
  TransportClient* client_ = nullptr;
  FailedSenders failed_;
  std::vector<bool> left_;                       // by rank
  std::pmr::unsynchronized_pool_resource pool_;  // of records and lists
  InboxRecords records_;
  WaitingMessages waiting_;
  std::vector<InboxRecord*> scratch_;
  std::uint64_t dropped_ = 0;
};

/// Finishes a piece that lies in memory already: copies it to its place. DataLoss when it is not as long as its header
/// says.
void finish_with(Inbox& inbox, InboxRecord* record, const FrameHeader& header, ConstView piece, View into);

/// The failure of a peer that has left, although pieces of a message of it are missing.
Status left_in_a_message(Rank from);

}  // namespace casync::runtime
