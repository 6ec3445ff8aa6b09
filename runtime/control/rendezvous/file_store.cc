// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

#include "runtime/control/rendezvous/store.h"
#include "runtime/control/wire/crypto.h"
#include "runtime/control/wire/fd.h"
#include "runtime/control/wire/private_file.h"
#include "runtime/control/wire/socket.h"

namespace casync::runtime {
namespace {

constexpr Bytes kMostValue = 64_KiB;
constexpr auto kFirstLookPause = std::chrono::milliseconds(2);
constexpr auto kMostLookPause = std::chrono::milliseconds(100);  // of asking again, for network file systems too

/// A key is the name of its file, and is not a path.
Status check_key(const std::string& key) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  if (!key.empty() && key.size() <= 200 && key.front() != '.' && std::all_of(key.begin(), key.end(), plain)) {
    return Status::ok();
  }
  return invalid_argument(fmt::format("\"{}\" is no key: use letters, digits and . _ -", key));
}

class FileStore final : public Store {
 public:
  explicit FileStore(std::string directory) : directory_(std::move(directory)) {}
  ~FileStore() override;
  Status set(const std::string& key, const std::string& value) override;
  Result<std::string> get(const std::string& key, Clock::time_point deadline) override;

 private:
  Result<Fd> write_aside(const std::string& path, const std::string& value);
  std::string path_of(const std::string& key) const { return directory_ + "/" + key; }

  std::string directory_;
  // Files of this store, to be taken away with it. Open, because the number of a file that is gone is given again.
  std::map<std::string, Fd> written_;
};

/// Returns true if that file is the one at `path`.
bool is_at(const Fd& file, const std::string& path) {
  struct stat own = {}, there = {};
  return fstat(file.get(), &own) == 0 && lstat(path.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
         own.st_ino == there.st_ino;
}

FileStore::~FileStore() {
  for (auto& [key, file] : written_) {
    // A later session may have put its own there. In a forked child no file is open (Fd): the parent's stay.
    const bool is_there = is_at(file, path_of(key));
    file.reset();  // NFS keeps a file that is removed while it is open
    if (is_there) unlink(path_of(key).c_str());
  }
}

Status FileStore::set(const std::string& key, const std::string& value) {
  CASYNC_RETURN_IF_ERROR(check_key(key));
  if (value.size() > kMostValue) return invalid_argument(fmt::format("{}: {} bytes are too many", key, value.size()));
  CASYNC_RETURN_IF_ERROR(make_private_directory(directory_));
  const std::string aside = fmt::format("{}/.{}.{}", directory_, key, to_hex(random_bytes(8)));
  Result<Fd> file = write_aside(aside, value);
  if (!file) return file.status();
  // Renamed when whole: nobody ever reads half a value.
  if (rename(aside.c_str(), path_of(key).c_str()) != 0) {
    const int error = errno;
    unlink(aside.c_str());
    return unavailable(fmt::format("cannot write {}: {}", path_of(key), error_text(error)));
  }
  written_.insert_or_assign(key, std::move(*file));
  return Status::ok();
}

Result<Fd> FileStore::write_aside(const std::string& path, const std::string& value) {
  Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return unavailable(fmt::format("cannot write {}: {}", path, error_text(errno)));
  const auto failed = [&] {
    const int error = errno;
    unlink(path.c_str());
    return unavailable(fmt::format("cannot write {}: {}", path, error_text(error)));
  };
  for (Bytes done = 0; done < value.size();) {
    const ssize_t wrote = write(fd.get(), value.data() + done, value.size() - done);
    if (wrote < 0) return failed();
    done += static_cast<Bytes>(wrote);
  }
  // A network file system may keep the bytes back as long as the file is open, and report a full disk only here.
  if (fsync(fd.get()) != 0) return failed();
  return fd;
}

Result<std::string> FileStore::get(const std::string& key, Clock::time_point deadline) {
  CASYNC_RETURN_IF_ERROR(check_key(key));
  for (auto pause = kFirstLookPause;; pause = std::min(2 * pause, kMostLookPause)) {
    bool absent = false;
    auto value = read_private_file(path_of(key), kMostValue, &absent);
    if (value || !absent) return value;
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return timeout_error(fmt::format("{} did not appear", path_of(key)));
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, deadline - now));
  }
}

}  // namespace

std::unique_ptr<Store> make_file_store(std::string directory) {
  return std::make_unique<FileStore>(std::move(directory));
}

}  // namespace casync::runtime
