// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <ucp/api/ucp.h>

#include "runtime/transport/frame.h"
#include "runtime/transport/held_memory.h"
#include "runtime/transport/inbox.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/ucx/fused_fetches.h"
#include "runtime/transport/ucx/held_pieces.h"
#include "runtime/transport/ucx/met_peers.h"
#include "runtime/transport/ucx/piece_fetches.h"
#include "runtime/transport/ucx/ucx_sender.h"
#include "runtime/transport/ucx/ucx_worker.h"

namespace casync::runtime {

/// The receiving half: active messages in, pieces to their places. What UCX announces (rendezvous) it fetches
/// straight to its place; what UCX has already (eager) is copied once.
class UcxReceiver final : public PieceSource {
 public:
  UcxReceiver(const TransportOptions& options, TransportStats& stats);

  Status open(UcxWorker& worker, Peers& peers, UcxSender& sender);
  Inbox& inbox() { return inbox_; }

  /// Pieces and fused messages that UCX is bringing.
  std::size_t under_way() const { return piece_fetches_.under_way() + fused_fetches_.under_way(); }
  FusedFetches& fused_fetches() { return fused_fetches_; }
  /// Adds the counts of what has been dropped and of what waits here.
  void add_counts(TransportStats& stats) const;

  /// The peers that have been met.
  MetPeers& met() { return met_; }
  /// Tells peers when what waits here begins to be too much, and when that is over.
  void watch_crowd();
  /// Tells a peer that is new among those met, if what waits here is too much by now.
  void tell_of_crowd(Rank peer);

 private:
  /// A message while its callback runs.
  struct Incoming {
    void* data = nullptr;
    Bytes length = 0;
    FusedStaging* staging = nullptr;         // the data's memory if it is ours
    bool announced = false;                  // rendezvous: to be fetched
    HeldPieces::Message* message = nullptr;  // once a piece in it waits
    bool kept = false;                       // it is UCX's no longer: we release or fetch it
    ucs_status_t answer() const { return kept ? UCS_INPROGRESS : UCS_OK; }
  };
  static ucs_status_t on_piece(void* self, const void* header, size_t header_length, void* data, size_t length,
                               const ucp_am_recv_param_t* param) noexcept;
  static ucs_status_t on_fused(void* self, const void* header, size_t header_length, void* data, size_t length,
                               const ucp_am_recv_param_t* param) noexcept;

  bool accepts(const FrameHeader& header);
  void piece(ConstView header_bytes, Incoming& incoming);
  void fused(Incoming& incoming);
  bool take_announcement(ConstView header_bytes, void* data, Bytes length);
  void handle(const FrameHeader& header, Incoming& incoming);
  void deliver(const FrameHeader& header, ConstView eager, Incoming& incoming);
  void keep(HeldPieces::Piece& piece, const FrameHeader& header, ConstView eager, Incoming& incoming);
  void release(const KeptMessage& message);

  void take_held(HeldPiece piece, InboxRecord* record, const FrameHeader& header, View into) override;
  void drop_held(HeldPiece piece) override;
  void refused(Rank from, Status reason) override;

  const int ranks_;
  TransportStats& stats_;
  UcxWorker* worker_ = nullptr;
  Peers* peers_ = nullptr;
  UcxSender* sender_ = nullptr;  // told what we put off
  Inbox inbox_;
  MetPeers met_;
  HeldMemory memory_;
  HeldPieces held_;
  PieceFetches piece_fetches_;
  FusedFetches fused_fetches_;
};

}  // namespace casync::runtime
