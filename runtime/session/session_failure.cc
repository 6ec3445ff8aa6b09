// SPDX-License-Identifier: Apache-2.0
//
// The failure of a session: this rank reports what it sees to all, and the group's answer is the failure here.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/session/session_impl.h"

namespace casync::runtime {
namespace {

// Time for which a rank that lacks only results waits for the report of a rank that lacks a contribution.
constexpr Seconds kTheirWord{0.5};

}  // namespace

SessionImpl::~SessionImpl() {
  if (forked()) {
    // Threads that do not exist cannot be joined, and what they owned is the parent's, like the device's context.
    static_cast<void>(group_.release());
    leave_to_threads();
  } else if (executor_) {
    static_cast<void>(close());
    if (abandoned_) leave_to_threads();
  }
}

void SessionImpl::leave_to_threads() {
  static_cast<void>(executor_.release());
  static_cast<void>(device_.release());
  static_cast<void>(timeline_.release());
  static_cast<void>(new auto(std::move(ready_)));  // events of the device, which tasks wait for
  static_cast<void>(moments_.release());
  static_cast<void>(device_sampler_.release());
}

bool SessionImpl::forked() const { return fork_generation() != generation_; }

Status SessionImpl::usable() const {
  if (!forked()) return Status::ok();
  return unavailable(
      fmt::format("process {} is a fork of the one whose session this is: open sessions after forking, "
                  "or start workers with \"spawn\"",
                  getpid()));
}

Status SessionImpl::failure() const { return executor_->wait_for_end(deadline()); }

std::string SessionImpl::named(Rank peer) const {
  return fmt::format("rank {} ({}, pid {})", peer, group_->host_of(peer), group_->pid_of(peer));
}

/// Ends the job with `cause`, on a thread of the program. Returns what all ranks end with, which an earlier cause may
/// explain better.
Status SessionImpl::end_with(const Status& cause) {
  if (!executor_->failing()) end_here(cause);
  return failure();
}

/// Ends the job because `run` is late.
Status SessionImpl::end_late(const GradientRun& run, const Status& cause) {
  if (!executor_->knows_who_is_late(run)) static_cast<void>(executor_->wait_for_end(after(kTheirWord)));
  return end_with(cause);
}

/// The same on the progress thread, which must go on to end it.
void SessionImpl::end_here(const Status& cause) {
  if (!closed_) group_->abort(cause);
  const Status first = closed_ ? cause : group_->failure();
  executor_->fail(first.is_ok() ? cause : first);
}

void SessionImpl::peer_broke(Rank peer, const Status& status) {
  const Status why(status.code(), named(peer) + ": " + status.message());
  if (!note_gone(peer, why)) return;
  // A peer that is gone while this rank is idle may have left after its last step, as this rank will; the next submit
  // reports it. A wrong message from it is another matter, and ends the job.
  if (!executor_->idle() || status.code() != StatusCode::kPeerFailure) end_here(why);
}

void SessionImpl::peer_left(Rank peer, const std::string& last_words) {
  Result<Farewell> farewell = decode_farewell(last_words);
  if (!farewell)
    return executor_->fail(Status(farewell.status().code(), named(peer) + ": " + farewell.status().message()));
  const Status why = peer_failure(named(peer) + " left the job: its session was closed");
  if (!note_left(peer, why)) return;
  executor_->peer_left({peer, farewell->steps, std::move(farewell->gradients), why});
}

void SessionImpl::peer_compares(std::uint64_t comparisons) {
  std::uint64_t due = comparisons_due_.load();
  while (due < comparisons && !comparisons_due_.compare_exchange_weak(due, comparisons)) {
  }
}

/// Returns false if no other rank has to hear of it.
bool SessionImpl::note_gone(Rank peer, const Status& why) {
  std::lock_guard lock(gone_mutex_);
  // A peer that said goodbye has had everything confirmed, and its connections may end.
  if (closed_ || (left_.contains(peer) && why.code() == StatusCode::kPeerFailure)) return false;
  if (gone_.is_ok()) gone_ = why;  // the first explains the others
  return true;
}

bool SessionImpl::note_left(Rank peer, const Status& why) {
  // With gossip a peer may be steps ahead when it leaves, and the executor knows which steps it has completed.
  if (plan_.mode.is_gossip() ? closed_.load() : !note_gone(peer, why)) return false;
  std::lock_guard lock(gone_mutex_);
  left_.insert(peer);
  return true;
}

void SessionImpl::abort(const std::string& reason) {
  if (forked()) return;
  aborted_ = true;
  static_cast<void>(end_with(peer_failure("rank " + std::to_string(launch_.rank) + " aborted the job: " + reason)));
}

}  // namespace casync::runtime
