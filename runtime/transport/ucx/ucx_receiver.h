// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/transport/frame.h"
#include "runtime/transport/inbox.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/pool.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/ucx/fused_fetches.h"
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
  const Inbox& inbox() const { return inbox_; }

  /// Pieces and fused messages that UCX is bringing.
  std::size_t under_way() const { return fetches_.in_use() + fused_fetches_.under_way(); }
  FusedFetches& fused_fetches() { return fused_fetches_; }

  /// The peers whose first message has come since the last call.
  std::vector<Rank> take_newly_met();

  /// Tells peers when what waits here begins to be too much, and when that is over.
  void watch_crowd();

 private:
  /// A message that is kept until the last piece in it has a place: UCX's data, or staging of ours.
  struct Descriptor {
    void* data = nullptr;
    FusedStaging* staging = nullptr;
    std::size_t users = 0;
    Rank from = 0;
    Bytes bytes = 0;  // of our memory: none when it is only announced
  };
  /// The same while its callback runs.
  struct Incoming {
    void* data = nullptr;
    Bytes length = 0;
    FusedStaging* staging = nullptr;   // the data's memory if it is ours
    bool announced = false;            // rendezvous: to be fetched
    Descriptor* descriptor = nullptr;  // once a piece in it waits
    bool kept = false;                 // it is UCX's no longer: we release or fetch it
    ucs_status_t answer() const { return kept ? UCS_INPROGRESS : UCS_OK; }
  };
  struct Held {
    Descriptor* descriptor = nullptr;
    ConstView eager;  // the piece, when it is in memory
    bool announced = false;
  };
  struct Fetch {
    UcxReceiver* receiver = nullptr;
    InboxRecord* record = nullptr;
    FrameHeader header;
  };
  static ucs_status_t on_piece(void* self, const void* header, size_t header_length, void* data, size_t length,
                               const ucp_am_recv_param_t* param) noexcept;
  static ucs_status_t on_fused(void* self, const void* header, size_t header_length, void* data, size_t length,
                               const ucp_am_recv_param_t* param) noexcept;
  static void on_fetched(void* request, ucs_status_t status, size_t length, void* fetch) noexcept;

  bool accepts(const FrameHeader& header);
  void piece(ConstView header_bytes, Incoming& incoming);
  void fused(Incoming& incoming);
  bool take_announcement(ConstView header_bytes, void* data, Bytes length);
  void handle(const FrameHeader& header, Incoming& incoming);
  void deliver(const FrameHeader& header, ConstView eager, Incoming& incoming);
  void keep(Held& held, const FrameHeader& header, ConstView eager, Incoming& incoming);
  Status outcome(const Fetch& fetch, ucs_status_t status, Bytes length);
  void fetch(void* data, InboxRecord* record, const FrameHeader& header, View into);
  void release(Descriptor& descriptor);

  void take_held(HeldPiece piece, InboxRecord* record, const FrameHeader& header, View into) override;
  void drop_held(HeldPiece piece) override;
  void refused(Rank from, Status reason) override;

  TransportStats& stats_;
  UcxWorker* worker_ = nullptr;
  Peers* peers_ = nullptr;
  UcxSender* sender_ = nullptr;  // told what we put off
  Inbox inbox_;
  std::vector<bool> met_;  // by rank
  std::vector<Rank> newly_met_;
  Pool<Descriptor> descriptors_;
  Pool<Held> held_;
  Pool<Fetch> fetches_;
  FusedFetches fused_fetches_;
  Bytes most_held_;       // before peers are told
  bool crowded_ = false;  // they have been
};

}  // namespace casync::runtime
