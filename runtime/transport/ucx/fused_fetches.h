// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include <ucp/api/ucp.h>

#include "base/units.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/pool.h"
#include "runtime/transport/ucx/ucx_worker.h"

namespace casync::runtime {

/// Memory for one announced fused message.
struct FusedStaging {
  std::unique_ptr<std::byte[]> bytes;  ///< as many as the largest message has, once it has been used
};

/// Fused messages that UCX announces (rendezvous) instead of bringing them. Fetches them into memory of this process,
/// in the order of their announcements, and only so many bytes at a time.
///
/// Threads: that of the worker. Errors: a failed fetch fails its peer.
class FusedFetches {
 public:
  /// Takes the `length` bytes of a message that has been fetched. True: it keeps the memory, and calls give() later.
  using Take = std::function<bool(FusedStaging& staging, Bytes length)>;

  /// `most`: bytes of the largest message, headers included.
  FusedFetches(Bytes most, Take take) : take_(std::move(take)), most_(most) {}

  void open(UcxWorker& worker, Peers& peers);

  Bytes most() const { return most_; }

  /// Queues the message that UCX knows as `data`. False: there is no memory for that, and UCX drops it.
  bool announce(Rank from, void* data, Bytes length);
  void give(FusedStaging* staging) { staging_.give(staging); }

  /// Messages that UCX is bringing.
  std::size_t under_way() const { return fetches_.in_use(); }

  /// Gives back the messages whose fetch has not begun.
  void drop_waiting();

  /// Never frees the memory that messages are fetched into: a device may still write there.
  void keep_memory() { static_cast<void>(new Pool<FusedStaging>(std::move(staging_))); }

 private:
  struct Waiting {
    void* data = nullptr;
    Rank from = 0;
    Bytes bytes = 0;
  };
  struct Fetch {
    FusedFetches* owner = nullptr;
    FusedStaging* staging = nullptr;
    Rank from = 0;
    Bytes bytes = 0;
  };

  static void on_fetched(void* request, ucs_status_t status, size_t length, void* fetch) noexcept;

  void fetch_waiting() noexcept;
  void fetch(const Waiting& waiting, FusedStaging& staging);
  void end(const Fetch& fetch, ucs_status_t status);

  UcxWorker* worker_ = nullptr;
  Peers* peers_ = nullptr;
  Take take_;
  Bytes most_;
  Pool<FusedStaging> staging_;
  Pool<Fetch> fetches_;
  std::deque<Waiting> waiting_;  // in the order of their announcements
  Bytes bytes_under_way_ = 0;
};

}  // namespace casync::runtime
