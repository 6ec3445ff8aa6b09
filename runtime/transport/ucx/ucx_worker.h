// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <ucp/api/ucp.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/ucx/ucx_endpoints.h"

namespace casync::runtime {

/// UCX itself: its context and its worker, with the worker's endpoints. Knows nothing of messages.
class UcxWorker {
 public:
  /// Unavailable: UCX finds nothing here that it can use (what it said).
  static Result<std::unique_ptr<UcxWorker>> open(const std::string& transport, const TransportOptions& options);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  UcxEndpoints& endpoints() { return endpoints_; }
  const UcxEndpoints& endpoints() const { return endpoints_; }
  const std::string& description() const { return description_; }
  /// As Transport::announced_bytes. In shared memory the receiver fetches what was announced: nobody waits for an
  /// answer.
  Bytes announced_bytes(Rank to) const { return asks_first(to) ? announced_bytes_ : 0; }
  /// A message to this peer may leave unasked: it would wait for an answer, and the user has not set from which size
  /// on.
  bool may_leave_unasked(Rank to) const { return !announced_bytes_are_users_ && asks_first(to); }

  /// The address that connect() of another rank takes: it is checked first, and then shown to UCX.
  std::string address() const;

  /// True when anything moved.
  bool progress() {
    UnmetProcesses& unmet = endpoints_.unmet();
    if (!unmet.empty() && unmet.must_rest(Clock::now())) return false;
    return ucp_worker_progress(worker_) != 0;
  }

  /// Returns false if there is something to progress already. True: event_fd() becomes readable when there is.
  bool arm() { return ucp_worker_arm(worker_) == UCS_OK; }
  int event_fd() const { return event_fd_; }

  /// Starts to send what UCX still holds of earlier sends.
  void start_flush();
  /// True when that has left, or could not.
  bool flushed() { return ucx_request_ended(flushing_); }

  /// True if network devices write to memory by themselves, also when nobody calls progress(): RDMA.
  bool devices_write() const { return devices_write_; }

  /// The destructor leaves UCX's memory alone: operations that never ended may still point into it.
  void leak() { leaked_ = true; }

 private:
  /// An announced message to this peer waits for its answer.
  bool asks_first(Rank to) const {
    return transport_ != "ucx:shm" && (lacks_shared_memory_ || !endpoints_.on_this_host(to));
  }
  UcxWorker(std::string transport, int ranks) : transport_(transport), endpoints_(std::move(transport), ranks) {}
  Status open_context(const TransportOptions& options);
  Status open_worker();

  std::string transport_;
  std::string description_;
  Bytes announced_bytes_ = 0;
  bool announced_bytes_are_users_ = false;
  bool lacks_shared_memory_ = false;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
  UcxEndpoints endpoints_;
  void* flushing_ = nullptr;
  bool devices_write_ = false;
  bool leaked_ = false;
};

}  // namespace casync::runtime
