// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/transport/fifo.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/pool.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/ucx/out_frames.h"
#include "runtime/transport/ucx/out_messages.h"
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
/// Pieces are prepared (checksummed) when they are about to leave, and are then in the cache. A small message does
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

  /// Reports as ended with `status` what UCX has not ended for this peer, whose endpoint has: nobody reads it any more.
  void abandon(Rank to, const Status& status);
  /// The same for all peers. Nothing of UCX may run after this.
  void abandon_all(const Status& status);
  /// Pieces of abandon() whose end UCX may still report: the worker may not end ahead of it.
  std::size_t abandoned() const { return abandoned_; }

  /// The messages that have not ended.
  const OutMessages& messages() const { return messages_; }

 private:
  struct OutPiece {
    std::array<std::byte, kFrameHeaderBytes> header;
    UcxSender* sender = nullptr;
    OutMessage* message = nullptr;  // null: abandoned, or not in use
    Bytes bytes = 0;
  };
  struct Queue {
    Fifo<OutMessage> waiting;  // started in part or not at all
    Bytes under_way = 0;
    bool announce_all = false;
  };

  void start(Rank to, const Outgoing& out);
  void start_fused(Rank to, std::span<const Outgoing> outgoing);
  void start_piece(OutMessage& message);
  void post(OutMessage& message, OutPiece& piece, unsigned id, ConstView header, ConstView data);
  void pump(Rank to);
  void end_piece(OutPiece& piece, ucs_status_t status);
  void end_if_done(OutMessage& message);
  void cancel(OutMessage& message, const Status& status);
  static void on_sent(void* request, ucs_status_t status, void* piece) noexcept;

  Queue& queue(Rank to) { return queues_[static_cast<std::size_t>(to)]; }

  OutFrames frames_;
  UcxWorker& worker_;
  Peers& peers_;
  TransportStats& stats_;
  std::vector<Queue> queues_;
  OutMessages messages_;
  Pool<OutPiece> pieces_;
  std::size_t abandoned_ = 0;
};

}  // namespace casync::runtime
