// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

using Environment = std::function<std::optional<std::string>(const char*)>;

/// A number and the variable it came from: errors name both.
struct Said {
  std::string variable;
  int value = 0;
  std::string text() const { return variable + "=" + std::to_string(value); }
};

/// One launcher's settings for this process.
struct LaunchSource {
  std::string name;
  std::optional<Said> rank, ranks, local_rank, local_ranks;
  std::string rendezvous;  ///< "" when the launcher offers none
  int ports = 1;           ///< rank 0 takes the first free one of so many, from that of `rendezvous` on
  std::string hint;        ///< why it offers none
  std::string job;         ///< the launcher's id of the job
  /// Started by a launcher further out, whose own variables are about its own processes: srun's below torchrun or
  /// mpirun count agents, and are not compared.
  bool may_be_outer = false;
};

/// All launchers that left their marks, innermost first. InvalidArgument: a number that is none, one of a pair
/// without the other.
Result<std::vector<LaunchSource>> read_sources(const Environment& env);

/// The first host of a SLURM node list: "node[003-007,9],x" gives "node003". "" for what is no node list.
std::string first_host(const std::string& nodelist);

}  // namespace casync::runtime
