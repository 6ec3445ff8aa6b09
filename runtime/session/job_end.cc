// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/job_end.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/session/farewell.h"

namespace casync::runtime {
namespace {

// Time for which a rank that lacks only results waits for the report of a rank that lacks a contribution.
constexpr Seconds kTheirWord{0.5};

}  // namespace

std::string JobEnd::named(Rank peer) const {
  return fmt::format("rank {} ({}, pid {})", peer, parts_.group->host_of(peer), parts_.group->pid_of(peer));
}

Status JobEnd::end_with(const Status& cause) {
  if (!parts_.executor->failures().failing()) end_here(cause);
  return failure();
}

Status JobEnd::end_late(const GradientRun& run, const Status& cause) {
  Executor& executor = *parts_.executor;
  if (!executor.waits().knows_who_is_late(run)) static_cast<void>(executor.failures().wait_for_end(after(kTheirWord)));
  return end_with(cause);
}

void JobEnd::abort(const std::string& reason) {
  aborted_ = true;
  const Rank self = parts_.launch.rank;
  static_cast<void>(end_with(peer_failure("rank " + std::to_string(self) + " aborted the job: " + reason)));
}

void JobEnd::end_here(const Status& cause) {
  if (!gone_.closed()) parts_.group->abort(cause);
  const Status first = gone_.closed() ? cause : parts_.group->failure();
  parts_.executor->failures().fail(first.is_ok() ? cause : first);
}

void JobEnd::peer_broke(Rank peer, const Status& status) {
  const Status why(status.code(), named(peer) + ": " + status.message());
  if (!gone_.note_broken(peer, why)) return;
  // A peer that is gone while this rank is idle may have left after its last step, as this rank will; the next submit
  // reports it. A wrong message from it is another matter, and ends the job.
  if (!parts_.executor->waits().idle() || status.code() != StatusCode::kPeerFailure) end_here(why);
}

void JobEnd::peer_left(Rank peer, const std::string& last_words) {
  Result<Farewell> farewell = decode_farewell(last_words);
  if (!farewell) {
    const Status status = farewell.status();
    return end_here(Status(status.code(), named(peer) + ": " + status.message()));
  }
  const Status why = peer_failure(named(peer) + " left the job: its session was closed");
  // With gossip a peer may be steps ahead when it leaves, and the executor knows which steps it has completed.
  if (!gone_.note_left(peer, why, parts_.plan.mode.is_gossip())) return;
  parts_.executor->peer_left({peer, farewell->steps, std::move(farewell->gradients), why});
}

}  // namespace casync::runtime
