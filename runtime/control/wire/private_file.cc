// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/control/wire/fd.h"
#include "runtime/control/wire/socket.h"

namespace casync::runtime {
namespace {

Status cannot_read(const std::string& path, int error, bool* absent) {
  if (absent != nullptr) *absent = is_absence(error);
  return unavailable(fmt::format("cannot read {}: {}", path, error_text(error)));
}

Status check_file(const std::string& path, const struct stat& info, Bytes most) {
  if (!S_ISREG(info.st_mode)) return invalid_argument(fmt::format("{} is not a regular file", path));
  if (info.st_uid != geteuid()) {
    return invalid_argument(fmt::format("{} belongs to user {}, not to {}", path, info.st_uid, geteuid()));
  }
  if ((info.st_mode & 077) != 0) {
    return invalid_argument(
        fmt::format("{} has mode {:03o}: others may use it; chmod 600 {}", path, info.st_mode & 0777, path));
  }
  if (static_cast<Bytes>(info.st_size) > most) {
    return invalid_argument(fmt::format("{} has {} bytes, more than {}", path, info.st_size, most));
  }
  return Status::ok();
}

Status check_directory(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) return unavailable(fmt::format("{}: {}", path, error_text(errno)));
  if (!S_ISDIR(info.st_mode)) return invalid_argument(fmt::format("{} is not a directory", path));
  if (info.st_uid != geteuid()) {
    return invalid_argument(
        fmt::format("{} belongs to user {}, not to {}: use a directory of your own", path, info.st_uid, geteuid()));
  }
  if ((info.st_mode & S_IWOTH) != 0) {
    return invalid_argument(fmt::format("{} can be written by everyone: chmod o-w {}", path, path));
  }
  return Status::ok();
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

bool is_absence(int error) { return error == ENOENT || error == ESTALE; }

Result<std::string> read_private_file(const std::string& path, Bytes most, bool* absent) {
  if (absent != nullptr) *absent = false;
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return cannot_read(path, errno, absent);
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) return cannot_read(path, errno, absent);
  CASYNC_RETURN_IF_ERROR(check_file(path, info, most));
  std::string content(most + 1, '\0');
  Bytes size = 0;
  for (ssize_t got = 1; got > 0 && size <= most; size += static_cast<Bytes>(got)) {
    got = read(fd.get(), content.data() + size, content.size() - size);
    if (got < 0) return cannot_read(path, errno, absent);
  }
  if (size > most) return invalid_argument(fmt::format("{} has more than {} bytes", path, most));
  content.resize(size);
  return content;
}

Status make_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno == ENOENT) {
    CASYNC_RETURN_IF_ERROR(make_private_directory(parent_of(path)));
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return unavailable(fmt::format("cannot make {}: {}", path, error_text(errno)));
    }
  } else if (errno != EEXIST && access(path.c_str(), F_OK) != 0) {
    return unavailable(fmt::format("cannot make {}: {}", path, error_text(errno)));
  }
  return check_directory(path);
}

}  // namespace casync::runtime
