// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/casync/launch/child.h"
#include "tools/casync/launch/job.h"
#include "tools/casync/launch/line_queue.h"
#include "tools/casync/launch/prefixed_lines.h"

namespace casync::tools {

/// Watches the ranks of one job until none is left. One thread: output, its readers, deaths and signals are all
/// descriptors of one poll().
class Supervisor {
 public:
  /// `signals` is a signalfd of SIGCHLD and of those that stop the job, borrowed.
  Supervisor(const JobOptions& options, int signals) : options_(options), signals_(signals) {}

  void add(Rank rank, Child child);
  /// Kills those that were added already: the job could not be started whole.
  void give_up();
  JobEnd watch();

 private:
  using Clock = std::chrono::steady_clock;
  /// The phase of stopping; a deadline ends kGrace and kTerminating. In the last one no rank is left.
  enum class Phase { kRunning, kGrace, kTerminating, kKilling, kLastWords };

  struct Process {
    Child child;
    PrefixedLines out, err;
    Clock::time_point start;
    bool alive = true;
    RankEnd end;
  };

  void say(const std::string& words);
  bool poll_once();
  int timeout_ms() const;
  bool read_outputs();
  static void read_output(UniqueFd& pipe, PrefixedLines& lines);
  void read_signals();
  void reap();
  void account(Process& process, int code, int status);
  void judge(const std::vector<Process*>& ended);
  void interrupt(int signal);
  void advance();
  void enter(Phase phase, double seconds);
  void signal_all(int signal);
  bool any_alive() const;
  bool any_output() const;

  const JobOptions& options_;
  int signals_;
  LineQueue lines_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::size_t first_read_ = 0;  ///< the process whose output is read first, in turns
  Phase phase_ = Phase::kRunning;
  std::optional<Clock::time_point> deadline_;
  JobEnd end_;
};

}  // namespace casync::tools
