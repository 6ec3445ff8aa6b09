// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync::tools {

/// The place of a job, as its ranks are told.
struct JobPlace {
  int ranks = 1;
  std::string rendezvous;  ///< "file:DIRECTORY" or "host:port"
  std::string token;
  int torch_port = 0;  ///< not 0: torch.distributed's env:// variables too, with this port on torch_host
  std::string torch_host = "127.0.0.1";
  std::optional<int> local_rank;  ///< unset: all ranks are on this machine, and the local rank is the rank
  int local_ranks = 0;            ///< with local_rank: ranks of this machine
  int threads = 0;                ///< not 0: OMP_NUM_THREADS where nobody set it
};

/// The environment of one rank: `inherited` ("NAME=value" each) without the places that other launchers left in
/// it (they would contradict ours), with this job's.
std::vector<std::string> rank_environment(std::span<const std::string> inherited, const JobPlace& place, Rank rank);

/// This process's own environment as "NAME=value".
std::vector<std::string> own_environment();

/// 32 random bytes as hexadecimal digits.
Result<std::string> make_token();

/// A TCP port of this machine that nobody listened on a moment ago. The kernel gives it to nobody: a rank may take
/// seconds to listen on it, and other programs connect meanwhile, from ports that the kernel chooses.
Result<int> find_free_port();

}  // namespace casync::tools
