// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/transport/fifo.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/pool.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/ucx/ucx_worker.h"

namespace casync::runtime {

/// The active messages we use.
enum UcxMessageId : unsigned {
  kUcxPiece = 1,  ///< header: one frame header; data: its piece
  kUcxFused = 2,  ///< header: none, or a frame header of kind kFused when announced; data: frame header, payload, ...
};

/// Fused messages up to so many bytes leave at once; larger ones are announced, and the receiver fetches them into
/// memory of its own.
inline constexpr Bytes kMostFusedAtOnce = 128_KiB;

/// The sending half: cuts payloads into pieces, keeps a few bytes under way per peer, reports each message once.
///
/// Pieces are prepared (checksummed) shortly before they leave, while they are in the cache. A small message does
/// not wait for a large one, and none waits for one that the peer has put off: the peer might need it
/// first to take that one.
class UcxSender {
 public:
  UcxSender(const TransportOptions& options, UcxWorker& worker, Peers& peers, TransportStats& stats);

  /// Sends in the order given, in as few wire messages as they fit: small ones together, others alone.
  void send(Rank to, std::span<const Outgoing> outgoing);
  /// A frame without a payload: goodbye, or that a message of that key has been put off here.
  void send_notice(Rank to, FrameKind kind, const MessageKey& key = {});

  /// The peer has put off this message of ours: until it is taken, others go ahead of what is left of it.
  void put_off(Rank by, const MessageKey& key);

  /// From now on each message to this peer is announced alone, or no longer.
  void announce_all(Rank to, bool all) { queues_[static_cast<std::size_t>(to)].announce_all = all; }

  /// Ends with `status` what has not left for this peer yet; pieces under way end through UCX.
  void cancel(Rank to, const Status& status);

  /// Reports as ended what UCX never ended. Nothing of UCX may run after this.
  void abandon_all(const Status& status);

  /// Messages to this peer that have not ended.
  bool idle(Rank to) const { return queues_[static_cast<std::size_t>(to)].messages == 0; }
  /// Something has been sent to this peer, a notice or a message.
  bool used(Rank to) const { return queues_[static_cast<std::size_t>(to)].used; }
  bool idle() const { return messages_.in_use() == 0 && fused_messages_.in_use() == 0; }

 private:
  struct OutMessage;
  struct OutPiece {
    std::array<std::byte, kFrameHeaderBytes> header;
    UcxSender* sender = nullptr;
    OutMessage* message = nullptr;
    Bytes bytes = 0;
  };
  struct OutMessage {
    Rank to = 0;
    FrameHeader header;
    ConstView payload;
    Bytes next_offset = 0;
    Bytes pieces_under_way = 0;
    Bytes bytes_under_way = 0;
    bool is_put_off = false;  // not in the queue then, and its bytes do not count there
    bool all_started = false;
    bool active = false;  // else: in its pool
    Status status;
    std::vector<std::uint64_t> cookies;  // none: a goodbye
    std::vector<std::byte> fused;        // the bytes of a fused message, else never used
    OutMessage* next = nullptr;          // in the queue of its peer
    OutMessage* newer = nullptr;         // in the list of its peer's unfinished messages
    OutMessage* older = nullptr;
  };
  struct Queue {
    Fifo<OutMessage> waiting;  // started in part or not at all
    Bytes under_way = 0;
    std::size_t messages = 0;
    bool announce_all = false;
    OutMessage* newest = nullptr;  // of those that have not ended and are no fused ones
    bool used = false;
  };

  bool reach(Rank to);
  void list(OutMessage& message);
  void unlist(OutMessage& message);
  OutMessage* new_message(Pool<OutMessage>& pool, Rank to);
  void start(Rank to, const Outgoing& out);
  void start_fused(Rank to, std::span<const Outgoing> outgoing);
  void start_piece(OutMessage& message);
  void post(OutMessage& message, OutPiece& piece, unsigned id, ConstView header, ConstView data);
  void pump(Rank to);
  void end_piece(OutPiece& piece, ucs_status_t status);
  void end_if_done(OutMessage& message);
  void cancel(OutMessage& message, const Status& status);
  static void on_sent(void* request, ucs_status_t status, void* piece) noexcept;

  FrameHeader header_for(const Message& message) const;
  Queue& queue(Rank to) { return queues_[static_cast<std::size_t>(to)]; }

  TransportOptions options_;
  UcxWorker& worker_;
  Peers& peers_;
  TransportStats& stats_;
  std::vector<Queue> queues_;
  Pool<OutMessage> messages_;
  Pool<OutMessage> fused_messages_;  // apart: only these need a buffer
  Pool<OutPiece> pieces_;
};

}  // namespace casync::runtime
