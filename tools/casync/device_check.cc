// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/device_check.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"
#include "runtime/device/device.h"
#include "runtime/session/session_device.h"

namespace casync::tools {
namespace {

/// Reads all that the process at the other end writes until it ends.
std::string all_from(int fd) {
  std::string text;
  char some[256];
  for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
    got = ::read(fd, some, sizeof some);
    if (got > 0) text.append(some, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

Status check_device(const std::string& name) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable(std::string("cannot make a pipe: ") + std::strerror(errno));
  const UniqueFd here(ends[0]);
  UniqueFd there(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return unavailable(std::string("cannot start another process: ") + std::strerror(errno));
  if (child == 0) {
    const Status status = runtime::open_device(name, 0).status();
    const std::string& text = status.message();
    if (::write(there.get(), text.data(), text.size()) < 0) ::_exit(0);
    ::_exit(static_cast<int>(status.code()));
  }
  there.reset();
  const std::string said = all_from(here.get());
  int end = 0;
  const pid_t waited = ::waitpid(child, &end, 0);
  // A driver that ends the process says so when the device is measured.
  if (waited != child || !WIFEXITED(end)) return Status::ok();
  return Status(static_cast<StatusCode>(WEXITSTATUS(end)), said);
}

}  // namespace casync::tools
