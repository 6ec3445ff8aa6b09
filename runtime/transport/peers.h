// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "runtime/transport/inbox.h"
#include "runtime/transport/report_queue.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The state of each peer, and the reports to the client that must wait for the next progress(): the part of a
/// transport that handles failures, shared by all of them.
class Peers {
 public:
  Peers(int ranks, Inbox& inbox);

  void set_client(TransportClient& client) { client_ = &client; }

  bool alive(Rank rank) const { return of(rank).status.is_ok() && !of(rank).left; }
  bool left(Rank rank) const { return of(rank).left; }
  /// OK, or the failure every operation with this rank completes with.
  const Status& status(Rank rank) const { return of(rank).status; }

  /// Returns false if the peer failed or left: each outgoing will be reported with that.
  bool may_send(Rank to, std::span<const Outgoing> outgoing);

  /// sent() with the next progress().
  void sent_later(std::uint64_t cookie, Status status);

  /// The peer said goodbye. A failure only when a message of it has a place, now or later, and is half here, or when
  /// something is sent to it later.
  void goodbye(Rank rank);

  /// The peer has confirmed that all that was sent to it has arrived.
  void confirm(Rank rank) { of(rank).confirmed = true; }
  /// Nothing sent to it is on its way: it has confirmed that, or failed or left.
  bool settled(Rank rank) const { return of(rank).confirmed || !alive(rank); }

  /// The peer failed: failed() once, and its messages end. From inside progress() or wait() only.
  void fail(Rank rank, Status status);
  /// The same with the next progress().
  void fail_later(Rank rank, Status status);

  /// Runs `body` where C code called us, which no exception may pass: what it throws (no memory, an error in the
  /// program's client) fails the peer later. Where there is no memory even for that, what is lost is missed by its
  /// deadline.
  template <class Body>
  void guard(Rank rank, Body body) noexcept {
    try {
      body();
    } catch (...) {
      fail_for_exception(rank);
    }
  }

  /// The end: operations complete with `status` from now on, which is no failure to report.
  void end_all(const Status& status);

  /// The number of peers that have failed so far. A transport compares it with the last value to clean up after them.
  std::uint64_t failures() const { return failures_; }

  /// Makes the reports that wait, each once even if the client throws; true when there were any.
  bool progress();
  bool has_news() const { return !sent_.empty() || !failing_.empty(); }

 private:
  struct Peer {
    Status status;
    bool left = false;
    bool confirmed = false;
  };
  struct Sent {
    std::uint64_t cookie;
    Status status;
  };
  bool set_failed(Rank rank, Status status);
  void tell(Rank rank);
  void fail_for_exception(Rank rank) noexcept;
  Peer& of(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& of(Rank rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  Inbox& inbox_;
  TransportClient* client_ = nullptr;
  std::vector<Peer> peers_;
  ReportQueue<Sent> sent_;
  ReportQueue<Rank> failing_;
  std::uint64_t failures_ = 0;
};

}  // namespace casync::runtime
