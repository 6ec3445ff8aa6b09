// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/ucx/unmet_processes.h"

namespace casync::runtime {

/// The observer that hears of a broken endpoint, from inside UcxWorker::progress().
class UcxEndpointObserver {
 public:
  virtual ~UcxEndpointObserver() = default;
  virtual void broken(Rank peer, ucs_status_t why) noexcept = 0;
};

/// UCX itself: context, worker and an endpoint for each peer that has been reached. Knows nothing of messages.
class UcxWorker {
 public:
  /// Unavailable: UCX finds nothing here that it can use (what it said).
  static Result<std::unique_ptr<UcxWorker>> open(const std::string& transport, const TransportOptions& options);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  /// Null until reach() has succeeded, and again after disconnect().
  ucp_ep_h endpoint(Rank peer) const { return endpoints_[static_cast<std::size_t>(peer)].endpoint; }
  bool reached(Rank peer) const { return endpoint(peer) != nullptr; }
  bool on_this_host(Rank peer) const { return endpoints_[static_cast<std::size_t>(peer)].on_this_host; }
  const std::string& description() const { return description_; }
  /// As Transport::announced_bytes. In shared memory the receiver fetches what was announced: nobody waits for an
  /// answer.
  Bytes announced_bytes(Rank to) const { return asks_first(to) ? announced_bytes_ : 0; }

  /// The address that connect() of another rank takes: it is checked before UCX sees it.
  std::string address() const;
  /// Remembers where the peer is. InvalidArgument: not an address of a transport of this kind and version (says which
  /// it is).
  Status connect(Rank peer, const std::string& address, UcxEndpointObserver& observer);

  /// Makes the endpoint to a peer that connect() knows, the first time. A rank has connections and buffers only for
  /// peers that it talks to. PeerFailure: UCX finds no way to it, or it was disconnected.
  Status reach(Rank peer);

  /// True when anything moved.
  bool progress() {
    if (!unmet_.empty() && unmet_.must_rest(Clock::now())) return false;
    return ucp_worker_progress(worker_) != 0;
  }

  /// Processes whose first word may still come; reach() knows those that have been met.
  UnmetProcesses& unmet() { return unmet_; }

  /// Returns false if there is something to progress already. True: event_fd() becomes readable when there is.
  bool arm() { return ucp_worker_arm(worker_) == UCS_OK; }
  int event_fd() const { return event_fd_; }

  /// Starts to send what UCX still holds of earlier sends.
  void start_flush();
  /// True when that has left, or could not.
  bool flushed() { return ended(flushing_); }

  /// Ends the endpoint at once; its operations complete with errors in later progress() calls.
  void disconnect(Rank peer);
  /// True when disconnected endpoints have ended, and the flush.
  bool disconnected();

  /// True if network devices write to memory by themselves, also when nobody calls progress(): RDMA.
  bool devices_write() const { return devices_write_; }

  /// The destructor leaves UCX's memory alone: operations that never ended may still point into it.
  void leak() { leaked_ = true; }

 private:
  struct Endpoint {
    ucp_ep_h endpoint = nullptr;
    std::string address;  // UCX's own bytes; none: never connected, or disconnected
    void* closing = nullptr;
    Rank peer = 0;
    bool on_this_host = false;
    UcxEndpointObserver* observer = nullptr;
  };

  UcxWorker(std::string transport, int ranks)
      : transport_(std::move(transport)), endpoints_(static_cast<std::size_t>(ranks)) {}
  bool asks_first(Rank to) const { return transport_ == "ucx:tcp" || (transport_ != "ucx:shm" && !on_this_host(to)); }
  Status open_context(const TransportOptions& options);
  Status open_worker();
  static bool ended(void*& request);
  static void on_error(void* endpoint, ucp_ep_h, ucs_status_t status) noexcept;

  std::string transport_;
  std::string description_;
  Bytes announced_bytes_ = 0;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
  std::vector<Endpoint> endpoints_;
  UnmetProcesses unmet_;
  void* flushing_ = nullptr;
  bool devices_write_ = false;
  bool leaked_ = false;
};

}  // namespace casync::runtime
