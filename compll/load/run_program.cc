// SPDX-License-Identifier: Apache-2.0
#include "compll/load/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace casync::compll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostSaid = 65536;
constexpr int kShownLines = 12;
constexpr std::size_t kShownBytes = 400;   // of a line
constexpr int kLookEveryMs = 2;            // small compared with a compiler's time, and costs next to nothing
constexpr std::chrono::seconds kGrace{2};  // for removing temporary files

constexpr const char* kCLocale = "LC_ALL=C";

/// This process's environment, but with the C locale: callers look for English words in messages.
std::vector<char*> environment() {
  std::vector<char*> all = {const_cast<char*>(kCLocale)};
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("LC_ALL=")) all.push_back(*each);
  }
  all.push_back(nullptr);
  return all;
}

/// The surroundings of the program: no files, no blocked or ignored signals, a process group of its own, by which it is
/// ended.
class Surroundings {
 public:
  explicit Surroundings(int errors) : environment_(environment()) {
    posix_spawn_file_actions_init(&files_);
    // First: in a process without stdin and stdout the pipe has one of their numbers.
    posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes_);
    sigset_t none, ignored_here;  // by Python, and by a program that waits for no child: ccache waits for its own
    sigemptyset(&none);
    sigemptyset(&ignored_here);
    sigaddset(&ignored_here, SIGPIPE);
    sigaddset(&ignored_here, SIGCHLD);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &ignored_here);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Surroundings() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  int spawn(pid_t* pid, const std::vector<char*>& command) const {
    return posix_spawn(pid, command.front(), &files_, &attributes_, command.data(), environment_.data());
  }

 private:
  std::vector<char*> environment_;
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

/// Reads the available bytes, without waiting for more.
void read_some(int fd, std::string& said) {
  std::array<char, 4096> some;
  for (ssize_t got = 1; got > 0;) {
    got = ::read(fd, some.data(), some.size());
    if (got > 0) said.append(some.data(), std::min(static_cast<std::size_t>(got), kMostSaid - said.size()));
  }
}

/// Returns true if the program has ended. Its number and its group's stay its own until it is taken.
bool has_ended(pid_t pid) {
  siginfo_t found = {};
  if (::waitid(P_PID, static_cast<id_t>(pid), &found, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != EINTR;
  return found.si_pid == pid;
}

/// Takes how a program ended. Another handler may have taken its exit code: then its output has to tell.
void take_end(pid_t pid, ProgramEnd& end) {
  siginfo_t found = {};
  ::waitid(P_PID, static_cast<id_t>(pid), &found, WEXITED | WNOHANG | WNOWAIT);
  const bool by_signal = found.si_pid == pid && found.si_code != CLD_EXITED;
  // Nobody else ends what a program that was ended leaves. One that ends by itself may leave a server on purpose.
  if (end.too_late || by_signal) ::kill(-pid, SIGKILL);
  int status = 0;
  pid_t taken = 0;
  do {
    taken = ::waitpid(pid, &status, 0);
  } while (taken < 0 && errno == EINTR);
  if (taken != pid) return;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + end.signal;
}

void end_group(pid_t pid, int signal) {
  ::kill(-pid, signal);
  ::kill(pid, signal);  // should it have left its group
}

}  // namespace

Result<ProgramEnd> run_program(std::span<const std::string> command, double seconds) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable(std::string("cannot make a pipe: ") + std::strerror(errno));
  const UniqueFd said(ends[0]);
  UniqueFd errors(ends[1]);
  ::fcntl(said.get(), F_SETFL, O_NONBLOCK);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = -1;
  const int error = Surroundings(errors.get()).spawn(&pid, words);
  if (error != 0) return unavailable("cannot start " + command.front() + ": " + std::strerror(error));
  errors.reset();
  ProgramEnd end;
  auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  // Does not wait until the pipe is closed: a server that a compiler's wrapper leaves running keeps it open.
  while (!has_ended(pid)) {
    pollfd wait{said.get(), POLLIN, 0};
    ::poll(&wait, 1, kLookEveryMs);
    read_some(said.get(), end.said);
    // A closed pipe is always readable.
    if ((wait.revents & POLLHUP) != 0) ::poll(nullptr, 0, kLookEveryMs);
    if (Clock::now() < limit) continue;
    // A compiler that is asked to end removes its temporary files.
    end_group(pid, end.too_late ? SIGKILL : SIGTERM);
    limit = Clock::now() + kGrace;
    end.too_late = true;
  }
  take_end(pid, end);
  read_some(said.get(), end.said);
  return end;
}

std::string text_of(const ProgramEnd& end) {
  if (end.signal == 0) return "ended with " + std::to_string(end.exit_code);
  return "was ended by signal " + std::to_string(end.signal) + " (" + ::strsignal(end.signal) + ")";
}

std::string first_lines(const std::string& text) {
  const auto is_control = [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; };
  std::istringstream stream(text);
  std::string lines, line;
  for (int i = 0; i < kShownLines && std::getline(stream, line); ++i) {
    if (line.size() > kShownBytes) line = line.substr(0, kShownBytes) + " ...";
    std::replace_if(line.begin(), line.end(), is_control, '?');
    lines += "\n  " + line;
  }
  return lines;
}

}  // namespace casync::compll
