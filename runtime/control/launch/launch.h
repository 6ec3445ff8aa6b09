// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

/// The most ranks that a job may have.
inline constexpr int kMostRanks = 65536;

/// This process's place in its job, and how it finds the others.
struct Launch {
  Rank rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  std::string source;      ///< the source: "arguments", "CASYNC_*", "torchrun", "torch" (its variables set by hand),
                           ///< "mpirun", "mpiexec", "srun", "alone"
  std::string rendezvous;  ///< "host:port" (rank 0 listens there), "file:DIRECTORY", "store" (the program's own),
                           ///< "pmix" (the launcher's), ""
  int ports = 1;           ///< rank 0 takes the first free one of so many, from that of a "host:port" on
  std::string token;       ///< the job token; "": none was set
  std::string node;        ///< the name of this process's node; "": the machine it runs on
  std::string job;         ///< the launcher's id of this job and attempt; "" where there is none
};

/// The program's own arguments; unset fields come from the environment.
struct LaunchArguments {
  std::optional<Rank> rank;
  std::optional<int> ranks;
  std::optional<std::string> rendezvous;
  std::optional<std::string> token;  ///< "" is a token, and too short
  std::optional<std::string> node;   ///< "": the machine
};

/// Reads arguments, then CASYNC_RANK/SIZE/LOCAL_RANK/LOCAL_SIZE/RENDEZVOUS/TOKEN/NODE, torchrun, Open MPI, PMI,
/// SLURM; with none of them, one rank alone. `env` looks a variable up (tests pass their own).
/// Arguments that name rank, size and rendezvous are all there is to know: no environment is asked for those. What
/// srun says is not compared with another launcher's word: it then counts that launcher's own processes.
/// InvalidArgument: two sources disagree (names both with their values), a number that is none, a rank outside
/// the size, a size above kMostRanks, more than one rank and nothing to find the others by (says what to set), a port
/// 0, a token too short to be one.
Result<Launch> read_launch(const LaunchArguments& arguments,
                           const std::function<std::optional<std::string>(const char*)>& env);

}  // namespace casync::runtime
