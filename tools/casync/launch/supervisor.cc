// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/launch/supervisor.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tools/casync/exit_code.h"

namespace casync::tools {
namespace {

constexpr double kTermSeconds = 2;         // from SIGTERM to SIGKILL
constexpr double kLastWordsSeconds = 0.2;  // for output of processes that left their group and hold the pipe
constexpr Seconds kStoppedReader{2};       // that a job which a signal has ended waits for

}  // namespace

void Supervisor::add(Rank rank, Child child) {
  const std::string prefix = options_.prefix ? "[" + std::to_string(rank) + "] " : "";
  const int out = options_.all_to_stderr ? STDERR_FILENO : STDOUT_FILENO;
  auto process = std::make_unique<Process>(
      Process{std::move(child), {prefix, lines_, out}, {prefix, lines_, STDERR_FILENO}, Clock::now(), true, {}});
  process->end.rank = rank;
  process->end.pid = process->child.pid;
  processes_.push_back(std::move(process));
}

void Supervisor::give_up() {
  signal_all(SIGKILL);
  // No deadline, here and in watch(): a process outlives SIGKILL only inside the kernel, which a shell waits for, too.
  for (auto& process : processes_) ::waitpid(process->child.pid, nullptr, 0);
}

JobEnd Supervisor::watch() {
  while (any_alive()) poll_once();
  enter(Phase::kLastWords, kLastWordsSeconds);
  while (any_output()) {
    const bool all_read = poll_once();  // at least once: what is in the pipes is passed on, however late it is
    if (all_read && Clock::now() >= *deadline_) break;
  }
  for (auto& process : processes_) {
    process->child.out.reset();
    process->child.err.reset();
    process->out.flush();
    process->err.flush();
    end_.ranks.push_back(process->end);
  }
  while (!lines_.empty()) poll_once();
  if (lines_.error() != 0) {
    std::fprintf(stderr, "casync run: lines of the ranks are lost: %s\n", std::strerror(lines_.error()));
    if (end_.exit_code == 0) end_.exit_code = kExitFailure;
  }
  return end_;
}

/// A line of this program's own. The reader of stderr may have stopped, too.
void Supervisor::say(const std::string& words) { lines_.add_next(STDERR_FILENO, "casync run: " + words + "\n"); }

/// Returns true if the output of all ranks was read.
bool Supervisor::poll_once() {
  std::vector<pollfd> waiting{{signals_, POLLIN, 0}};
  if (!lines_.empty()) waiting.push_back({lines_.descriptor(), POLLOUT, 0});
  if (!lines_.is_full()) {
    for (auto& process : processes_) {
      for (UniqueFd* pipe : {&process->child.out, &process->child.err}) {
        if (pipe->open()) waiting.push_back({pipe->get(), POLLIN, 0});
      }
    }
  }
  ::poll(waiting.data(), waiting.size(), timeout_ms());
  lines_.write();
  const bool all_read = read_outputs();
  read_signals();
  reap();
  if (deadline_ && Clock::now() >= *deadline_) advance();
  const bool is_stopped = !lines_.empty() && Clock::now() >= lines_.moved() + kStoppedReader;
  if (phase_ == Phase::kLastWords && end_.interrupted_by != 0 && is_stopped) lines_.drop();
  return all_read;
}

/// Milliseconds until something is to be done that no descriptor tells; -1: nothing is.
int Supervisor::timeout_ms() const {
  std::optional<Clock::time_point> end = deadline_;
  // The last words are waited for while they can be read, and their reader once a signal has ended the job.
  const bool is_over = phase_ == Phase::kLastWords;
  if (is_over && (lines_.is_full() || !any_output())) end.reset();
  if (is_over && end_.interrupted_by != 0 && !lines_.empty()) {
    const Clock::time_point stopped = lines_.moved() + std::chrono::duration_cast<Clock::duration>(kStoppedReader);
    end = end ? std::min(*end, stopped) : stopped;
  }
  if (!end) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(0, left));
}

/// Passes on the output of the ranks as long as there is room for it, which is the return value.
bool Supervisor::read_outputs() {
  ++first_read_;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (lines_.is_full()) return false;
    Process& process = *processes_[(first_read_ + i) % processes_.size()];
    read_output(process.child.out, process.out);
    read_output(process.child.err, process.err);
    lines_.write();
  }
  return true;
}

/// Passes on as much as there is now: a rank that writes faster than this does not keep signals and the others waiting.
void Supervisor::read_output(UniqueFd& pipe, PrefixedLines& lines) {
  if (!pipe.open()) return;
  std::array<char, 16384> buffer;
  int left = 0;
  ::ioctl(pipe.get(), FIONREAD, &left);
  do {
    const ssize_t count = ::read(pipe.get(), buffer.data(), buffer.size());
    if (count == 0) pipe.reset();
    if (count <= 0) return;
    lines.feed({buffer.data(), static_cast<std::size_t>(count)});
    left -= static_cast<int>(count);
  } while (left > 0);
}

void Supervisor::read_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_, &signal, sizeof(signal)) == sizeof(signal)) {
    if (signal.ssi_signo != SIGCHLD) interrupt(static_cast<int>(signal.ssi_signo));
  }
}

void Supervisor::reap() {
  std::vector<Process*> ended;
  for (auto& process : processes_) {
    siginfo_t info{};
    const id_t pid = static_cast<id_t>(process->child.pid);
    if (!process->alive || ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) continue;
    // Not reaped yet, so that its number cannot belong to anybody else: what it left in its group goes with it.
    ::kill(-process->child.pid, SIGKILL);
    ::waitid(P_PID, pid, &info, WEXITED);
    account(*process, info.si_code, info.si_status);
    ended.push_back(process.get());
  }
  if (!ended.empty()) judge(ended);
}

void Supervisor::account(Process& process, int code, int status) {
  process.alive = false;
  process.end.signal = code == CLD_EXITED ? 0 : status;
  process.end.exit_code = code == CLD_EXITED ? status : 128 + status;
  process.end.seconds = std::chrono::duration<double>(Clock::now() - process.start).count();
  process.end.stopped = process.end.exit_code != 0 && phase_ >= Phase::kTerminating;
}

/// Finds the rank to blame: of several that ended between two polls, one that a signal ended, as it made others exit.
void Supervisor::judge(const std::vector<Process*>& ended) {
  if (phase_ != Phase::kRunning) return;
  const Process* culprit = nullptr;
  for (const Process* process : ended) {
    if (process->end.exit_code == 0) continue;
    if (culprit == nullptr || (culprit->end.signal == 0 && process->end.signal != 0)) culprit = process;
  }
  if (culprit == nullptr) return;
  const RankEnd& end = culprit->end;
  end_.first_failed = end.rank;
  end_.exit_code = end.exit_code;
  const std::string how =
      end.signal != 0 ? "was killed by signal " + std::to_string(end.signal) + " (" + ::strsignal(end.signal) + ")"
                      : "exited with code " + std::to_string(end.exit_code);
  const bool others = any_alive();
  say("rank " + std::to_string(end.rank) + " (pid " + std::to_string(end.pid) + ") " + how +
      (others ? "; stopping the others" : ""));
  if (others) enter(Phase::kGrace, options_.grace_s);
}

void Supervisor::interrupt(int signal) {
  if (phase_ == Phase::kLastWords) {  // nobody is left to be stopped, but for a wait for readers
    if (lines_.empty()) return;
    lines_.drop();
    if (end_.exit_code == 0) end_.exit_code = 128 + signal;
    end_.interrupted_by = signal;
    return;
  }
  if (end_.interrupted_by != 0) {  // asked twice: at once
    signal_all(SIGKILL);
    enter(Phase::kKilling, 0);
    return;
  }
  end_.interrupted_by = signal;
  if (phase_ == Phase::kRunning) end_.exit_code = 128 + signal;
  say(std::string(::strsignal(signal)) + ": stopping all ranks");
  signal_all(signal);
  enter(Phase::kTerminating, signal == SIGINT ? options_.grace_s : kTermSeconds);
}

void Supervisor::advance() {
  if (phase_ == Phase::kGrace) {
    signal_all(SIGTERM);
    enter(Phase::kTerminating, kTermSeconds);
  } else if (phase_ == Phase::kTerminating) {
    signal_all(SIGKILL);
    enter(Phase::kKilling, 0);
  }
}

void Supervisor::enter(Phase phase, double seconds) {
  phase_ = phase;
  deadline_.reset();
  if (phase == Phase::kKilling) return;  // nothing comes after it
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void Supervisor::signal_all(int signal) {
  for (auto& process : processes_) {
    if (!process->alive) continue;
    ::kill(-process->child.pid, signal);
    ::kill(-process->child.pid, SIGCONT);  // a stopped process would not hear it
  }
}

bool Supervisor::any_alive() const {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& process) { return process->alive; });
}

bool Supervisor::any_output() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const auto& process) { return process->child.out.open() || process->child.err.open(); });
}

}  // namespace casync::tools
