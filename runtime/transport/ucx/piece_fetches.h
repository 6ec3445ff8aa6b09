// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <ucp/api/ucp.h>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/inbox.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/pool.h"
#include "runtime/transport/ucx/ucx_worker.h"

namespace casync::runtime {

/// Pieces that UCX announces (rendezvous) instead of bringing them. Fetches each straight to its place, and finishes it
/// in the inbox.
///
/// Threads: that of the worker. Errors: a failed fetch fails its peer.
class PieceFetches {
 public:
  explicit PieceFetches(Inbox& inbox) : inbox_(inbox) {}

  /// Comes first.
  void open(UcxWorker& worker, Peers& peers);

  /// The next fetch() allocates nothing.
  void make_ready() { fetches_.make_ready(); }
  /// Fetches the piece that UCX knows as `data`.
  void fetch(void* data, InboxRecord* record, const FrameHeader& header, View into);

  /// Pieces that UCX is bringing.
  std::size_t under_way() const { return fetches_.in_use(); }

 private:
  struct Fetch {
    PieceFetches* owner = nullptr;
    InboxRecord* record = nullptr;
    FrameHeader header;
  };
  static void on_fetched(void* request, ucs_status_t status, size_t length, void* fetch) noexcept;
  Status outcome(const Fetch& fetch, ucs_status_t status, Bytes length);

  Inbox& inbox_;
  UcxWorker* worker_ = nullptr;
  Peers* peers_ = nullptr;
  Pool<Fetch> fetches_;
};

}  // namespace casync::runtime
