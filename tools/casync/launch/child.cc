// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/launch/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace casync::tools {
namespace {

constexpr int kExecuteMs = 60000;

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable(std::string("cannot make a pipe: ") + std::strerror(errno));
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> pointers_to(std::span<const std::string> texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Between fork and exec: async-signal-safe calls only. `failure` carries errno back when exec fails.
[[noreturn]] void become(char* const* arguments, char* const* environment, pid_t parent, int out, int err,
                         int failure) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died ahead of the line above
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  // A background process group that reads the terminal is stopped by it: an empty stdin ends at once instead.
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(failure, &error, sizeof(error));
  ::_exit(127);
}

}  // namespace

Result<Child> start_child(std::span<const std::string> program, std::span<const std::string> environment) {
  Result<Pipe> out = make_pipe(), err = make_pipe(), failure = make_pipe();
  for (const Result<Pipe>* pipe : {&out, &err, &failure}) CASYNC_RETURN_IF_ERROR(pipe->status());
  const std::vector<char*> arguments = pointers_to(program), variables = pointers_to(environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return unavailable(std::string("cannot start another process: ") + std::strerror(errno));
  if (pid == 0) {
    become(arguments.data(), variables.data(), parent, out->write.get(), err->write.get(), failure->write.get());
  }
  ::setpgid(pid, pid);  // here too: whichever of the two runs first, the group exists by the time that it is signalled
  failure->write.reset();
  int error = 0;
  pollfd executed{failure->read.get(), POLLIN, 0};
  if (::poll(&executed, 1, kExecuteMs) == 0) {  // the descriptor is closed, or has the error, once it is executed
    ::kill(-pid, SIGKILL);
    return timeout_error("`" + program[0] + "` could not be executed within " + std::to_string(kExecuteMs / 1000) +
                         " s: does its file system answer?");
  }
  if (::read(failure->read.get(), &error, sizeof(error)) == sizeof(error)) {
    ::waitpid(pid, nullptr, 0);  // it ends by itself
    return invalid_argument("cannot execute `" + program[0] + "`: " + std::strerror(error));
  }
  ::fcntl(out->read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err->read.get(), F_SETFL, O_NONBLOCK);
  return Child{pid, std::move(out->read), std::move(err->read)};
}

}  // namespace casync::tools
