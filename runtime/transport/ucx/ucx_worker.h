// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include "base/status.h"
#include "base/units.h"
#include "runtime/control/deadline.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Who is told that an endpoint broke, from inside UcxWorker::progress().
class UcxEndpointObserver {
 public:
  virtual ~UcxEndpointObserver() = default;
  virtual void broken(Rank peer, ucs_status_t why) noexcept = 0;
};

/// UCX itself: context, worker and one endpoint for each peer. Knows nothing of messages.
class UcxWorker {
 public:
  /// Unavailable: UCX finds nothing here that it can use (what it said).
  static Result<std::unique_ptr<UcxWorker>> open(const std::string& transport, const TransportOptions& options);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  ucp_ep_h endpoint(Rank peer) const { return endpoints_[static_cast<std::size_t>(peer)].endpoint; }
  bool on_this_host(Rank peer) const { return endpoints_[static_cast<std::size_t>(peer)].on_this_host; }
  const std::string& description() const { return description_; }
  /// As Transport::announced_bytes. In shared memory the receiver fetches what was announced: nobody waits for an
  /// answer.
  Bytes announced_bytes(Rank to) const { return asks_first(to) ? announced_bytes_ : 0; }

  /// What connect() of another rank takes: checked before UCX sees it.
  std::string address() const;
  /// InvalidArgument: not an address of a transport of this kind and version (says which it is).
  Status connect(Rank peer, const std::string& address, UcxEndpointObserver& observer);

  /// True when anything moved.
  bool progress() { return ucp_worker_progress(worker_) != 0; }

  /// False: there is something to progress already. True: event_fd() becomes readable when there is.
  bool arm() { return ucp_worker_arm(worker_) == UCS_OK; }
  int event_fd() const { return event_fd_; }

  /// Sends what UCX still holds of earlier sends; false when the deadline came first.
  bool flush(Clock::time_point deadline);

  /// Ends the endpoint at once; its operations complete with errors in later progress() calls.
  void disconnect(Rank peer);
  /// True when disconnected endpoints have ended, and a flush that its deadline cut short.
  bool disconnected();

  /// The destructor leaves UCX's memory alone: operations that never ended may still point into it.
  void leak() { leaked_ = true; }

 private:
  struct Endpoint {
    ucp_ep_h endpoint = nullptr;
    void* closing = nullptr;
    Rank peer = 0;
    bool on_this_host = false;
    UcxEndpointObserver* observer = nullptr;
  };

  UcxWorker(std::string transport, int ranks)
      : transport_(std::move(transport)), endpoints_(static_cast<std::size_t>(ranks)) {}
  bool asks_first(Rank to) const { return transport_ == "ucx:tcp" || (transport_ == "ucx" && !on_this_host(to)); }
  Status open_context(const TransportOptions& options);
  Status open_worker();
  static void on_error(void* endpoint, ucp_ep_h, ucs_status_t status) noexcept;

  std::string transport_;
  std::string description_;
  Bytes announced_bytes_ = 0;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
  std::vector<Endpoint> endpoints_;
  void* flushing_ = nullptr;
  bool leaked_ = false;
};

}  // namespace casync::runtime
