// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/transport/frame.h"
#include "runtime/transport/inbox.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/pool.h"
#include "runtime/transport/transport.h"
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

  /// Pieces that UCX is still bringing.
  std::size_t under_way() const { return fetches_.in_use(); }

 private:
  /// A message of UCX that is kept until the last piece in it has a place.
  struct Descriptor {
    void* data = nullptr;
    std::size_t users = 0;
  };
  struct Held {
    Descriptor* descriptor = nullptr;
    ConstView eager;         // the piece, when it is in memory
    bool announced = false;  // rendezvous: to be fetched
  };
  struct Fetch {
    UcxReceiver* receiver = nullptr;
    InboxRecord* record = nullptr;
    FrameHeader header;
  };

  static ucs_status_t on_piece(void* self, const void* header, size_t header_length, void* data, size_t length,
                               const ucp_am_recv_param_t* param);
  static ucs_status_t on_fused(void* self, const void* header, size_t header_length, void* data, size_t length,
                               const ucp_am_recv_param_t* param);
  static void on_fetched(void* request, ucs_status_t status, size_t length, void* fetch);

  ucs_status_t piece(ConstView header, void* data, Bytes length, bool announced);
  ucs_status_t fused(void* data, Bytes length);
  bool deliver(const FrameHeader& header, void* data, ConstView eager, bool announced, Descriptor*& descriptor);
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
  Pool<Descriptor> descriptors_;
  Pool<Held> held_;
  Pool<Fetch> fetches_;
};

}  // namespace casync::runtime
