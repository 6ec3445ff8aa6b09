// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync::tools {

/// A job of local ranks: the same program several times.
struct JobOptions {
  int ranks = 1;
  std::vector<std::string> program;  ///< and its arguments
  std::string rendezvous;            ///< "": files in a private directory, gone when the job ends
  std::string token;                 ///< "": CASYNC_TOKEN, else a fresh random one
  bool torch = false;                ///< also what torch.distributed's env:// reads
  double grace_s = 3;                ///< from a rank's failure until the others are stopped
  bool prefix = true;                ///< "[rank] " before each line
  bool all_to_stderr = false;        ///< the ranks' stdout too
};

/// The end of one rank.
struct RankEnd {
  Rank rank = 0;
  int pid = 0;
  int exit_code = 0;  ///< 128 + signal where a signal ended it
  int signal = 0;
  double seconds = 0;
  bool stopped = false;  ///< by us, because of another rank or a signal: not a failure of its own
};

struct JobEnd {
  /// The code of the rank that failed first; 128 + signal when we were told to stop; 1 if a full disk has lost lines.
  int exit_code = 0;
  std::optional<Rank> first_failed;  ///< unset: none did
  int interrupted_by = 0;            ///< the signal we were told to stop with
  std::vector<RankEnd> ranks;
};

/// Starts all ranks, passes on what they write, and stops them all when one fails or a SIGINT, SIGTERM or SIGHUP
/// comes that this process does not ignore. Returns when none is left, nor any process of their groups, and readers
/// have all of the output; those that have stopped are not waited for once a signal has come. To be called by the main
/// thread, with no other thread started: signals are the job's while it runs. Raises the process's limit of descriptors
/// if the ranks need that.
/// InvalidArgument: the program cannot be executed. Unavailable: no process, port or directory to be had, or too few
/// descriptors.
Result<JobEnd> run_job(const JobOptions& options);

}  // namespace casync::tools
