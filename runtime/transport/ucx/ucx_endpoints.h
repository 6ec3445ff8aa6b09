// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include "base/status.h"
#include "base/units.h"
#include "runtime/transport/ucx/unmet_processes.h"

namespace casync::runtime {

/// The observer that hears of a broken endpoint, from inside UcxWorker::progress().
class UcxEndpointObserver {
 public:
  virtual ~UcxEndpointObserver() = default;
  virtual void broken(Rank peer, ucs_status_t why) noexcept = 0;
};

/// Frees a request once it has ended, and sets it to null. True: it has, or there is none.
bool ucx_request_ended(void*& request);

/// An endpoint of a worker for each peer that has been reached. Invariant: a peer has an endpoint only from a reach()
/// that succeeded to its disconnect(), and none afterwards.
class UcxEndpoints {
 public:
  UcxEndpoints(std::string transport, int ranks)
      : transport_(std::move(transport)), endpoints_(static_cast<std::size_t>(ranks)) {}

  /// Comes first: the worker outlives its endpoints.
  void open(ucp_worker_h worker) { worker_ = worker; }
  /// Remembers where the peer is. InvalidArgument: not an address of a transport of this kind and version (says which
  /// it is).
  Status connect(Rank peer, const std::string& address, UcxEndpointObserver& observer);

  /// Makes the endpoint to a peer that connect() knows, the first time. A rank has connections and buffers only for
  /// peers that it talks to. PeerFailure: UCX finds no way to it, or it was disconnected.
  Status reach(Rank peer);
  /// Null until reach() has succeeded, and again after disconnect().
  ucp_ep_h of(Rank peer) const { return endpoints_[static_cast<std::size_t>(peer)].endpoint; }
  bool reached(Rank peer) const { return of(peer) != nullptr; }
  bool on_this_host(Rank peer) const { return endpoints_[static_cast<std::size_t>(peer)].on_this_host; }

  /// Ends the endpoint at once; its operations complete with errors in later progress() calls.
  void disconnect(Rank peer);
  /// True when disconnected endpoints have ended.
  bool disconnected();
  /// True when the endpoint to this peer, which was disconnected, has ended.
  bool has_ended(Rank peer);

  /// Processes whose first word may still come; reach() knows those that have been met.
  UnmetProcesses& unmet() { return unmet_; }

 private:
  struct Endpoint {
    ucp_ep_h endpoint = nullptr;
    std::string address;  // UCX's own bytes; none: never connected, or disconnected
    void* closing = nullptr;
    Rank peer = 0;
    bool on_this_host = false;
    UcxEndpointObserver* observer = nullptr;
  };
  static void on_error(void* endpoint, ucp_ep_h, ucs_status_t status) noexcept;

  std::string transport_;
  ucp_worker_h worker_ = nullptr;
  std::vector<Endpoint> endpoints_;
  UnmetProcesses unmet_;
};

}  // namespace casync::runtime
