// SPDX-License-Identifier: Apache-2.0
#include "compll/load/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "base/env.h"
#include "base/folder_entries.h"
#include "base/log.h"
#include "compll/load/digest.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSeal = "\ncasync codec ";  // then two digests of 32 digits
constexpr std::size_t kDigits = 32;
constexpr std::size_t kSealBytes = kSeal.size() + 2 * kDigits;
constexpr off_t kMostEntry = 64 << 20;
constexpr std::uintmax_t kObjectBytes = 1 << 20;  // more than any codec's
constexpr std::time_t kHour = 3600, kDay = 24 * kHour;
constexpr uid_t kUnmapped = 65534;                 // owner of files whose user, mostly root, a container does not know
constexpr const char* kPassing = "casync-codec-";  // in $TMPDIR

Status failed(const fs::path& path, const std::string& what) {
  return unavailable(path.string() + ": " + what + ": " + std::strerror(errno));
}

/// Returns true if a folder's owner may lie above what is loaded: this user, or root.
bool is_trusted(uid_t owner) { return owner == ::geteuid() || owner == 0 || owner == kUnmapped; }

/// Checks that no other user can replace files in a folder: a writer can replace any, with the sticky bit only his own.
Status check_folder(const fs::path& path, bool own) {
  struct stat info = {};
  if ((own ? ::lstat : ::stat)(path.c_str(), &info) != 0) return failed(path, "cannot be looked at");
  if (!S_ISDIR(info.st_mode)) return unavailable(path.string() + " is not a folder");
  const bool others = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (own ? info.st_uid != ::geteuid() : !is_trusted(info.st_uid)) {
    return unavailable(path.string() + " belongs to user " + std::to_string(info.st_uid));
  }
  if (others && (own || (info.st_mode & S_ISVTX) == 0)) {
    return unavailable(path.string() + " can be written by others: chmod go-w " + path.string());
  }
  return Status::ok();
}

/// Makes a folder, and those above it that are missing, for this user alone. False: errno says why not.
bool make_private(const fs::path& folder) {
  const auto made = [&] { return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST; };
  if (made()) return true;
  return errno == ENOENT && folder.has_relative_path() && make_private(folder.parent_path()) && made();
}

std::string home() { return foreign_env_text("HOME").value_or(""); }

std::string temporary_folder() { return foreign_env_text("TMPDIR").value_or("/tmp"); }

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_all(int fd, std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::read(fd, text.data() + at, text.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

bool is_file_at(const fs::path& path, int fd) {
  struct stat there = {}, here = {};
  return ::lstat(path.c_str(), &there) == 0 && ::fstat(fd, &here) == 0 && there.st_ino == here.st_ino &&
         there.st_dev == here.st_dev;
}

/// Returns true if a file or folder is this user's own and nobody has written to it for so long.
bool is_left(const fs::path& path, std::time_t seconds) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid() &&
         std::time(nullptr) - info.st_mtim.tv_sec > seconds;
}

std::string seal_of(std::string_view content, const std::string& digest) {
  return std::string(kSeal) + digest + DigestWriter().add(content).add(digest).text();
}

/// The folder that the environment names for the cache.
Result<fs::path> wanted_folder() {
  fs::path folder;
  if (const auto wanted = env_text("CASYNC_CACHE_DIR")) {
    folder = *wanted;
  } else if (const auto cache = foreign_env_text("XDG_CACHE_HOME")) {
    folder = fs::path(*cache) / "casync";
  } else if (!home().empty()) {
    folder = fs::path(home()) / ".cache/casync";
  } else {
    return unavailable("no CASYNC_CACHE_DIR, XDG_CACHE_HOME or HOME is set");
  }
  std::error_code error;
  folder = fs::absolute(folder, error);
  return folder.has_filename() ? folder : folder.parent_path();  // a slash at the end
}

/// Makes a folder that is missing, and checks that no other user can replace it or what is in it.
Status make_own(const fs::path& folder) {
  if (!make_private(folder)) return failed(folder, "cannot be made");
  CASYNC_RETURN_IF_ERROR(check_folder(folder, true));
  CASYNC_RETURN_IF_ERROR(check_folder(folder.parent_path(), false));
  return check_ways(folder.parent_path());
}

/// The cache of a user who cannot use the wanted folder. Nothing is made where others could replace it.
Result<fs::path> spare_folder() {
  std::error_code error;
  const fs::path temporary = fs::absolute(temporary_folder(), error);
  CASYNC_RETURN_IF_ERROR(check_folder(temporary, false));
  CASYNC_RETURN_IF_ERROR(check_ways(temporary));
  fs::path folder = temporary / ("casync-cache-" + std::to_string(::geteuid()));
  CASYNC_RETURN_IF_ERROR(make_own(folder));
  return folder;
}

}  // namespace

Result<fs::path> cache_folder() {
  Result<fs::path> wanted = wanted_folder();
  const Status usable = wanted ? make_own(*wanted) : wanted.status();
  if (usable) return wanted;
  Result<fs::path> spare = spare_folder();
  if (!spare) return unavailable(usable.message() + ", and " + spare.status().message());
  static std::once_flag once;
  std::call_once(once, [&] { log().warn("the cache of codecs is {}: {}", spare->string(), usable.message()); });
  return spare;
}

Status check_ways(const fs::path& folder) {
  std::error_code error;
  for (fs::path way = fs::canonical(folder, error); !error && way.has_relative_path(); way = way.parent_path()) {
    struct stat info = {};
    if (::stat(way.c_str(), &info) != 0) continue;
    if (!is_trusted(info.st_uid)) {
      return unavailable(way.string() + " belongs to user " + std::to_string(info.st_uid));
    }
    if ((info.st_mode & S_IWOTH) == 0 || (info.st_mode & S_ISVTX) != 0) continue;
    return unavailable(way.string() + " can be written by others: chmod o-w " + way.string());
  }
  return Status::ok();
}

fs::path entry_path(const fs::path& folder, const std::string& digest, const std::string& ending) {
  return folder / (digest + ending);
}

std::optional<std::string> read_entry(const fs::path& path, const std::string& digest) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!file.open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
  if (info.st_size > kMostEntry) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  if (!read_all(file.get(), bytes)) return std::nullopt;
  return unsealed(std::move(bytes), digest);
}

std::string sealed(std::string_view content, const std::string& digest) {
  return std::string(content) + seal_of(content, digest);
}

std::optional<std::string> unsealed(std::string bytes, const std::string& digest) {
  if (bytes.size() < kSealBytes) return std::nullopt;
  const std::string seal = bytes.substr(bytes.size() - kSealBytes);
  bytes.resize(bytes.size() - kSealBytes);
  if (seal != seal_of(bytes, digest)) return std::nullopt;
  return bytes;
}

bool is_entry(const fs::path& path, const std::string& digest) { return read_entry(path, digest).has_value(); }

Status seal_entry(const fs::path& path, const std::string& digest) {
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat info = {};
  if (!file.open() || ::fstat(file.get(), &info) != 0) return failed(path, "cannot be opened");
  std::string content(static_cast<std::size_t>(info.st_size), '\0');
  if (!read_all(file.get(), content)) return failed(path, "cannot be read");
  // The umask may have been any when the compiler made the file.
  if (::fchmod(file.get(), 0700) != 0) return failed(path, "cannot be made private");
  return write_all(file.get(), seal_of(content, digest)) ? Status::ok() : failed(path, "cannot be written");
}

Status write_new_file(const fs::path& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file.open() && write_all(file.get(), text) ? Status::ok() : failed(path, "cannot be written");
}

void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& each : folder_entries(folder, error)) {
    const std::string name = each.path().filename().string();
    const std::string ending = each.path().extension().string();
    // DIGEST.PID.RANDOM.cc, .so and .cubin; an entry has one point.
    const bool of_compilation = ending == ".cc" || ending == ".so" || ending == ".cubin";
    const bool passing = of_compilation && std::count(name.begin(), name.end(), '.') == 3;
    if ((passing || ending == ".lock") && is_left(each.path(), kHour)) fs::remove(each.path(), error);
  }
}

bool is_full(const fs::path& folder) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  return !error && space.available < kObjectBytes;
}

std::string unique_name(const std::string& digest) {
  // A process of another machine or container that shares the folder may have the same number.
  std::random_device random;
  return digest + "." + std::to_string(::getpid()) + "." + std::to_string(random()) + std::to_string(random());
}

EntryLock::EntryLock(const fs::path& folder, const std::string& digest, double seconds)
    : path_(folder / (digest + ".lock")) {
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (;;) {
    if (!file_.open()) file_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    const bool locked = file_.open() && ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
    held_ = locked && is_file_at(path_, file_.get());
    if (held_ || (!locked && errno != EWOULDBLOCK) || Clock::now() >= deadline) break;
    if (locked || !is_file_at(path_, file_.get())) {
      // The previous one has removed it. A child that it forked may still hold it.
      file_.reset();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

EntryLock::~EntryLock() {
  if (held_) ::unlink(path_.c_str());
}

Result<PassingFolder> PassingFolder::make() {
  const std::string temporary = temporary_folder();
  std::error_code error;
  // A process that was killed leaves its folder; a day later nobody reads it.
  for (const fs::directory_entry& each : folder_entries(temporary, error)) {
    const bool ours = each.path().filename().string().starts_with(kPassing) && each.is_directory(error);
    if (ours && !each.is_symlink(error) && is_left(each.path(), kDay)) fs::remove_all(each.path(), error);
  }
  std::string path = temporary + "/" + kPassing + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return failed(path, "cannot be made");
  PassingFolder folder;
  folder.path_ = path;
  return folder;
}

PassingFolder::~PassingFolder() {
  std::error_code ignored;  // nothing better can be done with it on the way out
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace casync::compll
