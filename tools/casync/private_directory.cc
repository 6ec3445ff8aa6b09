// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/private_directory.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace casync::tools {
namespace {

/// Holds back the signals that end this process while it lives.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
  }
  ~HeldSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

void remove_whole(const std::string& path) {
  std::error_code ignored;  // nothing better can be done with it on the way out
  std::filesystem::remove_all(path, ignored);
}

/// The other process: removes `path` once the write end of this pipe is closed everywhere.
[[noreturn]] void remove_after(int read_end, const std::string& path) {
  ::setpgid(0, 0);  // signals to the group of the program are not for this one
  for (const int shared : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(shared);
  char none = 0;
  while (::read(read_end, &none, 1) < 0 && errno == EINTR) {
  }
  remove_whole(path);
  ::_exit(0);
}

Status no_process() { return unavailable(std::string("cannot start another process: ") + std::strerror(errno)); }

}  // namespace

Result<PrivateDirectory> PrivateDirectory::make() {
  const char* root = std::getenv("TMPDIR");
  std::string path = std::string(root != nullptr && *root != '\0' ? root : "/tmp") + "/casync-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {  // makes it with mode 0700
    return unavailable("cannot make a directory for the rendezvous (" + path + "): " + std::strerror(errno) +
                       "; set TMPDIR to a writable directory");
  }
  PrivateDirectory directory;
  directory.path_ = path;
  return directory;
}

Result<PrivateDirectory> PrivateDirectory::make_watched() {
  const HeldSignals held;  // until there is somebody who removes it
  Result<PrivateDirectory> made = make();
  CASYNC_RETURN_IF_ERROR(made.status());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return no_process();
  const UniqueFd read_end(ends[0]);
  made->alive_ = UniqueFd(ends[1]);
  made->watcher_ = ::fork();
  if (made->watcher_ < 0) return no_process();
  if (made->watcher_ == 0) {
    made->alive_.reset();
    remove_after(read_end.get(), made->path_);
  }
  return made;
}

PrivateDirectory::~PrivateDirectory() {
  if (!path_.empty()) remove_whole(path_);
  if (watcher_ <= 0) return;
  ::kill(watcher_, SIGKILL);
  while (::waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace casync::tools
