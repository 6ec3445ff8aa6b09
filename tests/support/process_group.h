// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace casync::test {

/// The end of one rank of a ProcessGroup.
struct EndedProcess {
  int exit_code = -1;  ///< -1: a signal ended it
  int signal = 0;
  bool killed_at_limit = false;
  std::string output;  ///< stdout and stderr together
};

/// Several copies of this test program, as ranks. Each runs the test named by its arguments and finds its place
/// with RankProcess. The destructor ends those that are left.
class ProcessGroup {
 public:
  /// Starts them: /proc/self/exe with `arguments` and, added to this environment, `environment`.
  ProcessGroup(int ranks, std::vector<std::string> arguments, std::map<std::string, std::string> environment = {});
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Serves the ranks' all_gather() and collects their output until all have ended or the limit; then kills the
  /// rest. By rank.
  std::vector<EndedProcess> wait(Seconds limit);

  pid_t pid(Rank rank) const { return processes_[static_cast<std::size_t>(rank)].pid; }

 private:
  struct Process {
    pid_t pid = -1;
    int socket = -1;  // connection for all_gather
    int output = -1;  // read end of its stdout and stderr
    bool ended = false;
    bool has_blob = false;
    std::string blob;
    EndedProcess result;
  };

  void start(Rank rank, const std::vector<std::string>& arguments,
             const std::map<std::string, std::string>& environment);
  void poll_once();
  void read_output(Process& process);
  void read_blob(Process& process);
  void reap();
  void answer_when_complete();

  std::vector<Process> processes_;
};

/// The place of this process in a ProcessGroup.
class RankProcess {
 public:
  /// True when this process is a rank of a group.
  static bool is_one();
  RankProcess();

  Rank rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// Returns every rank's blob, by rank; "" of ended ranks. Each rank's n-th call belongs together. Up to 32 KiB.
  std::vector<std::string> all_gather(const std::string& blob);

 private:
  Rank rank_ = 0;
  int ranks_ = 0;
  int socket_ = -1;
};

}  // namespace casync::test
