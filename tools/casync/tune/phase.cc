// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/phase.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "tools/casync/launch/child.h"

namespace casync::tools {
namespace {

constexpr int kPollMs = 200;
constexpr int kLookMs = 20;  // for the end of a child that has closed its output
constexpr Seconds kLastWords{5};
constexpr Seconds kLeftOutput{0.2};  // of processes that left the group of a program that has ended
constexpr std::size_t kShownLines = 8;
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

/// The group of the running program; 0: none runs.
std::atomic<pid_t> program_group{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// Handler: ends the program, and this process as if it had no handler, which SA_RESETHAND has removed.
void end_with_program(int signal) {
  const pid_t group = program_group;
  if (group > 0) ::kill(-group, SIGKILL);
  ::raise(signal);
}

/// While it lives, signals that end this process end the program, too: in its group neither a terminal nor a launcher
/// reaches it. A signal that this process ignores stays ignored. For the main thread; all others block signals.
class ProgramEnder {
 public:
  /// Holds signals back until there is a program.
  ProgramEnder() {
    struct sigaction own {};
    own.sa_handler = end_with_program;
    own.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigemptyset(&own.sa_mask);
    for (const int signal : kEndingSignals) ::sigaddset(&own.sa_mask, signal);
    ::pthread_sigmask(SIG_BLOCK, &own.sa_mask, &mask_);
    for (std::size_t i = 0; i < before_.size(); ++i) {
      ::sigaction(kEndingSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kEndingSignals[i], &own, nullptr);
    }
  }
  ~ProgramEnder() {
    program_group = 0;
    for (std::size_t i = 0; i < before_.size(); ++i) ::sigaction(kEndingSignals[i], &before_[i], nullptr);
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  ProgramEnder(const ProgramEnder&) = delete;
  ProgramEnder& operator=(const ProgramEnder&) = delete;

  void started(pid_t group) {
    program_group = group;
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  std::array<struct sigaction, kEndingSignals.size()> before_{};
  sigset_t mask_{};
};

std::vector<std::string> environment_of(const PhaseProcess& process, const JobPlace& place, Rank rank) {
  std::vector<std::string> variables = rank_environment(own_environment(), place, rank);
  const auto has_name = [](const std::string& variable, const std::string& name) {
    return variable.starts_with(name + "=");
  };
  std::vector<std::string> names = process.unset;
  for (const std::string& variable : process.set) names.push_back(variable.substr(0, variable.find('=')));
  std::erase_if(variables, [&](const std::string& variable) {
    return std::any_of(names.begin(), names.end(), [&](const auto& name) { return has_name(variable, name); });
  });
  variables.insert(variables.end(), process.set.begin(), process.set.end());
  return variables;
}

/// Appends some of what has come to the log: a program that writes without end does not keep its limit waiting. Returns
/// false at the end of the stream.
bool pass_on(int descriptor, std::ofstream& log) {
  char bytes[65536];
  const ssize_t count = ::read(descriptor, bytes, sizeof bytes);
  if (count > 0) log.write(bytes, count);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

std::string last_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    lines.push_back(line.substr(0, 300));
    if (lines.size() > kShownLines) lines.erase(lines.begin());
  }
  std::string text;
  for (const std::string& line : lines) text += "\n    " + line;
  return text;
}

/// True once the child has ended. It stays unreaped, so that its group's number cannot be anybody else's.
bool has_ended(const Child& child) {
  siginfo_t info{};
  const bool known = ::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return !known || info.si_pid != 0;
}

/// Waits for the child and copies its output. Kills its group when it has ended, when another rank has given up, or at
/// the deadline; not even then does it wait for a process that the kernel holds, or for one that left the group with
/// the child's output.
Result<int> wait_for(const Child& child, TuneRanks& ranks, std::ofstream& log) {
  const auto deadline = after(Seconds(ranks.patience_s()));
  auto last = Clock::time_point::max();
  pollfd streams[2] = {{child.out.get(), POLLIN, 0}, {child.err.get(), POLLIN, 0}};
  bool late = false, ended = false;
  while (!ended || streams[0].fd >= 0 || streams[1].fd >= 0) {
    ::poll(streams, 2, streams[0].fd < 0 && streams[1].fd < 0 ? kLookMs : kPollMs);
    for (pollfd& stream : streams) {
      if (stream.fd >= 0 && !pass_on(stream.fd, log)) stream.fd = -1;
    }
    ended = has_ended(child);
    late = late || (!ended && Clock::now() > deadline);
    if (!ended && !late && ranks.failure()) continue;
    ::kill(-child.pid, SIGKILL);
    if (last == Clock::time_point::max()) last = after(ended ? kLeftOutput : kLastWords);
    if (Clock::now() > last) break;
  }
  int status = SIGKILL;
  if (ended) {
    program_group = 0;  // from here on its number may be another's
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (late) return timeout_error("did not end within " + std::to_string(static_cast<int>(ranks.patience_s())) + " s");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Status give_up(TuneRanks& ranks, const Status& cause) {
  ranks.give_up(cause);
  const Status root = ranks.failure();
  return root ? cause : root;
}

/// Runs it with these variables until it has ended well. On failure all ranks give up.
Status run(TuneRanks& ranks, const PhaseProcess& process, const std::vector<std::string>& variables) {
  std::ofstream log(process.log, std::ios::trunc);
  if (!log) return give_up(ranks, unavailable(process.log + " cannot be written: " + std::strerror(errno)));
  ProgramEnder ender;
  const Result<Child> child = start_child(process.program, variables);
  if (!child) return give_up(ranks, child.status());
  ender.started(child->pid);
  const Result<int> code = wait_for(*child, ranks, log);
  log.close();
  if (const Status failure = ranks.failure(); !failure) return failure;
  if (code && *code == 0) return Status::ok();
  const std::string end = code ? "ended with exit code " + std::to_string(*code) : code.status().message();
  const std::string message = process.name + ": `" + process.program.front() + "` on rank " +
                              std::to_string(ranks.rank()) + " " + end + "; its log " + process.log +
                              " ends with:" + last_lines(process.log);
  return give_up(ranks, code ? unavailable(message) : timeout_error(message));
}

}  // namespace

Status run_phase(TuneRanks& ranks, const PhaseProcess& process) {
  const Result<JobPlace> place = ranks.next_place();
  CASYNC_RETURN_IF_ERROR(place.status());
  CASYNC_RETURN_IF_ERROR(run(ranks, process, environment_of(process, *place, ranks.rank())));
  return ranks.meet(process.name);
}

Status run_to_end(TuneRanks& ranks, const PhaseProcess& process) { return run(ranks, process, own_environment()); }

}  // namespace casync::tools
