// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "base/status.h"
#include "base/units.h"
#include "runtime/session/gone_ranks.h"
#include "runtime/session/session_parts.h"

namespace casync::runtime {

/// The end of a job that fails: this rank reports what it sees to all, and the group's answer is the failure here. Any
/// thread.
class JobEnd {
 public:
  /// Borrows both. The parts are connected by the first call.
  JobEnd(const SessionParts& parts, GoneRanks& gone) : parts_(parts), gone_(gone) {}

  // A thread of the program's.
  /// After the end: waits until callers' memory is theirs again. Returns the failure.
  Status failure() const { return parts_.executor->failures().wait_for_end(parts_.deadline()); }
  /// Ends the job with `cause`. Returns what all ranks end with, which an earlier cause may explain better.
  Status end_with(const Status& cause);
  /// Ends the job because `run` is late.
  Status end_late(const GradientRun& run, const Status& cause);
  /// Ends the job because the program wants that.
  void abort(const std::string& reason);
  bool aborted() const { return aborted_.load(); }

  // The progress thread, which must go on to end the job, or the group's.
  void end_here(const Status& cause);
  /// The connection to a peer broke, or what it sent is wrong.
  void peer_broke(Rank peer, const Status& status);
  /// A peer said goodbye, with a Farewell; anything else ends the job.
  void peer_left(Rank peer, const std::string& last_words);

 private:
  std::string named(Rank peer) const;

  const SessionParts& parts_;
  GoneRanks& gone_;
  std::atomic<bool> aborted_{false};  ///< by this rank's program
};

}  // namespace casync::runtime
