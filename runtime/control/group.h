// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/control/deadline.h"
#include "runtime/control/store.h"

namespace casync::runtime {

struct GroupOptions {
  Rank rank = 0;
  int ranks = 1;
  std::string token;           ///< proven by HMAC-SHA256 challenge both ways before anything else is read
  std::string address;         ///< "host:port": rank 0 listens there; "": rank 0 picks one and tells `store`
  std::string interface_name;  ///< rank 0 listens on this interface's address when `address` is ""
  Store* store = nullptr;      ///< may be null when `address` is set; used before join() returns only
  std::string job;             ///< the launcher's id of this job: without a token it helps to keep out other jobs
  Seconds timeout{300};        ///< of joining: the rank that started first gives up first, and all with it
  Seconds beat{0.5};           ///< a heartbeat is sent this often
  Seconds dead{5};             ///< a rank silent this long has failed
};

/// The ranks of a job, joined over TCP in a star around rank 0: who is there, who died, and small exchanges.
/// A thread of its own keeps the heartbeats: it takes no lock of Python's and waits on no data.
/// In a forked child every call returns Unavailable: the connections and the thread are the parent's.
class Group {
 public:
  virtual ~Group() = default;  ///< as close() with no time to spare

  /// Joins; returns on all ranks or on none. Errors, the same on every rank that can be reached, naming who:
  /// Timeout (the ranks that did not come), InvalidArgument (two processes with one rank, another world size,
  /// another version of this library), PeerFailure (a rank that died while joining), Unavailable (the address
  /// cannot be listened on or reached, a wrong token).
  static Result<std::unique_ptr<Group>> join(const GroupOptions& options);

  /// A random number drawn by rank 0, the same on all ranks: the job's epoch.
  virtual std::uint64_t epoch() const = 0;
  virtual const std::string& host_of(Rank rank) const = 0;
  virtual int pid_of(Rank rank) const = 0;
  /// How many of the ranks, this one included, run on this rank's machine, whatever the launcher said: same boot and
  /// same PID namespace, so that each container counts as a machine.
  virtual int local_ranks() const = 0;

  /// Every rank's blob, by rank. Collective: the n-th call of each rank belongs together; `what` names it in
  /// errors and must agree. One caller at a time. Blobs of up to 64 MiB.
  /// Timeout names the ranks that did not call, InvalidArgument both names where two differ: on every rank that
  /// makes this call, and the group lives on. A failure of the group ends it at once.
  virtual Result<std::vector<std::string>> all_gather(const std::string& what, const std::string& blob,
                                                      Clock::time_point deadline) = 0;

  /// Tells every rank that the job is over and why. The first cause wins, everywhere: returns when this rank knows
  /// which that is, after 1.5 s at most.
  virtual void abort(const Status& cause) = 0;

  /// `on_failure` runs once, on the group's thread, with the root cause: a peer died, froze, aborted. Runs at
  /// once if that has already happened. It does not block, and does not destroy the group.
  virtual void watch(std::function<void(const Status&)> on_failure) = 0;

  /// `on_leave` runs on the group's thread once for each other rank that said goodbye (close()), also for those
  /// that already have: whoever still waits for that rank must not go on waiting. Required by the session.
  virtual void watch_leavers(std::function<void(Rank)> on_leave) = 0;

  /// The root cause, OK while there is none.
  virtual Status failure() const = 0;

  /// Says goodbye and waits until all ranks did, or the deadline: a peer leaving without it has failed. The thread has
  /// ended when it returns, also when the group has failed.
  virtual Status close(Clock::time_point deadline) = 0;
};

}  // namespace casync::runtime
