// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/control/group/claim_book.h"
#include "runtime/control/group/facts.h"
#include "runtime/control/group/last_words.h"
#include "runtime/control/rendezvous/group_options.h"

namespace casync::runtime {

/// The ranks of a job, joined over TCP around rank 0, many of them as a tree: who is there, who died, and small
/// exchanges. A thread of its own keeps the heartbeats: it takes no lock of Python's and waits on no data. Any thread
/// may call anything. In a forked child every call returns Unavailable: the connections and the thread are the
/// parent's.
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
  /// A rank's host name, and the id of its process there.
  virtual const std::string& host_of(Rank rank) const = 0;
  virtual int pid_of(Rank rank) const = 0;
  /// The number of ranks, this one included, on this rank's machine, whatever the launcher said: the same boot and the
  /// same PID namespace, so that each container counts as a machine.
  virtual int local_ranks() const = 0;
  /// Returns true if all ranks are this process: each joined on a thread of it.
  virtual bool is_one_process() const = 0;

  /// Every rank's blob, by rank. Collective: the n-th call of each rank belongs together; `what` names it in
  /// errors and must agree. One caller at a time. Blobs of up to 64 MiB.
  /// Timeout names the ranks that did not call, InvalidArgument both names where two differ: on every rank that
  /// makes this call, and the group lives on. A failure of the group ends it at once.
  virtual Result<std::vector<std::string>> all_gather(const std::string& what, const std::string& blob,
                                                      Clock::time_point deadline) = 0;

  /// Claims names with this rank's facts about them. Returns at once; each rank may claim in any order and any
  /// grouping, each name once. Rank 0 compares digests: its traffic does not depend on the size of the facts. When
  /// every rank has claimed a name with equal facts, the name is agreed. When two differ, the job fails with
  /// InvalidArgument: the first fact that differs, both ranks and both values.
  virtual void claim(std::vector<Claim> claims) = 0;

  /// Claims one name and waits until it is agreed. Timeout: ends the job, and names the ranks that did not claim it.
  virtual Status agree(Claim claim, Clock::time_point deadline) = 0;

  /// `on_agreement` runs on the group's thread, with the same arguments in the same order on every rank, for each
  /// agreement from now on.
  virtual void watch_agreements(std::function<void(const Agreement&)> on_agreement) = 0;

  /// Says that this rank cannot go on, in `step`, until these names are agreed. Every rank that lacks one is told
  /// (watch_needs). The job fails if such a rank has left, leaves, or answers with lack().
  virtual void need(std::vector<std::string> names, std::uint32_t step) = 0;
  /// `on_need` runs on the group's thread: another rank waits, in `step`, for a name that this rank had not claimed
  /// when rank 0 last heard of it.
  virtual void watch_needs(std::function<void(const std::string& name, std::uint32_t step)> on_need) = 0;
  /// This rank will not claim `name`. The job fails with InvalidArgument if another rank has claimed it and this one
  /// has not: "gradient b: rank 0 has float32 [3], rank 1 has nothing".
  virtual void lack(const std::string& name) = 0;
  /// This rank has waited for `name` as long as it may. Unless the name is agreed, the job fails with Timeout and the
  /// ranks that have not claimed it. Returns when this rank knows, after 1.5 s at most.
  virtual void give_up(const std::string& name) = 0;
  /// Asks rank 0 which ranks have not claimed `name`, and logs its answer here. Returns at once.
  virtual void ask_who_is_late(const std::string& name) = 0;

  /// Bytes that this rank's control connections have moved so far, both ways: for tests and measurements.
  virtual Bytes control_bytes() = 0;

  /// Tells every rank that the job is over and why. The first cause wins, everywhere: returns when this rank knows
  /// which that is, after 1.5 s at most.
  virtual void abort(const Status& cause) = 0;

  /// `on_failure` runs once, on the group's thread, with the root cause: a peer died, froze, aborted. Runs at
  /// once if that has already happened. It does not block, and does not destroy the group.
  virtual void watch(std::function<void(const Status&)> on_failure) = 0;

  /// `on_leave` runs on the group's thread once for each other rank that said goodbye (close()), with its last words,
  /// also for those that already have: a caller that needs more of that rank must not go on waiting. It does not block.
  virtual void watch_leavers(std::function<void(Rank, const LastWords& words)> on_leave) = 0;

  /// The root cause, OK while there is none.
  virtual Status failure() const = 0;

  /// Says goodbye and waits until all ranks did, or the deadline: a peer leaving without it has failed. The thread has
  /// ended when it returns, also when the group has failed. While rank 0 waits it serves the others. Once it is gone
  /// they go on alone: their collective calls are PeerFailure, nobody's death is noticed, and close() is OK.
  /// `words` travel with the goodbye. Timeout: names the ranks that did not say goodbye.
  virtual Status close(Clock::time_point deadline, const LastWords& words) = 0;
  Status close(Clock::time_point deadline) { return close(deadline, {}); }
};

}  // namespace casync::runtime
