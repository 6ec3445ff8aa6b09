// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/process_watch.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace casync::runtime {

Fd watch_process(const Identity& process, const Identity& self) {
  if (process.machine.empty() || process.machine != self.machine || process.pid <= 1) return {};
  struct stat owner = {};
  if (stat(fmt::format("/proc/{}", process.pid).c_str(), &owner) != 0 || owner.st_uid != geteuid()) return {};
  // glibc of Debian 12 has a wrapper, older ones do not; pidfds are CLOEXEC by themselves.
  Fd fd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  // Compared after opening: from here on the descriptor is this very process.
  if (!fd || process.started == 0 || start_of_process(process.pid) != process.started) return {};
  return fd;
}

}  // namespace casync::runtime
