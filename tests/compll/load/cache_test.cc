// SPDX-License-Identifier: Apache-2.0
#include "compll/load/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "compll/load/digest.h"
#include "tests/environment/scoped_variable.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

const std::string kDigest = DigestWriter().add("one").text();
const std::string kOther = DigestWriter().add("other").text();

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

/// An entry as a compiler and seal_entry leave it.
fs::path made_entry(const test::TemporaryDirectory& folder) {
  fs::path path = entry_path(folder.path(), kDigest);
  write(path, std::string(10000, 'x') + "the end");
  REQUIRE(seal_entry(path, kDigest).text() == "OK");
  REQUIRE(is_entry(path, kDigest));
  return path;
}

/// The answer for a wanted folder where no other can take its place.
Status folder_status(const std::string& folder) {
  const ScopedVariable variable("CASYNC_CACHE_DIR", folder.c_str()), temporary("TMPDIR", "/proc/nowhere");
  return cache_folder().status();
}

}  // namespace

TEST_CASE("cache: digests tell texts and their borders apart") {
  CHECK(kDigest.size() == 32);
  CHECK(DigestWriter().add("ab").add("c").text() == DigestWriter().add("ab").add("c").text());
  CHECK(DigestWriter().add("ab").add("c").text() != DigestWriter().add("a").add("bc").text());
  CHECK(DigestWriter().add("").text() != DigestWriter().text());
}

TEST_CASE("cache: an entry that was cut off, lengthened or changed in any byte is none") {
  const test::TemporaryDirectory folder;
  const fs::path path = made_entry(folder);
  const std::string whole = content_of(path);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
    write(path, whole.substr(0, size));
    CHECK_FALSE(is_entry(path, kDigest));
  }
  write(path, whole + "\n");
  CHECK_FALSE(is_entry(path, kDigest));
  for (std::size_t at = 0; at < whole.size(); at += 97) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write(path, changed);
    CHECK_FALSE(is_entry(path, kDigest));
  }
  write(path, whole);
  CHECK(is_entry(path, kDigest));
}

TEST_CASE("cache: an entry that was made from something else is none") {
  const test::TemporaryDirectory folder;
  const fs::path path = made_entry(folder);
  CHECK_FALSE(is_entry(path, kOther));
  fs::copy(path, entry_path(folder.path(), kOther));
  CHECK_FALSE(is_entry(entry_path(folder.path(), kOther), kOther));
}

TEST_CASE("cache: an entry that others may write to, that is a link or no file is none") {
  const test::TemporaryDirectory folder;
  const fs::path path = made_entry(folder);
  for (const mode_t mode : {0720, 0702, 0777}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK_FALSE(is_entry(path, kDigest));
  }
  REQUIRE(::chmod(path.c_str(), 0755) == 0);
  CHECK(is_entry(path, kDigest));
  const fs::path link = fs::path(folder.path()) / "link";
  fs::create_symlink(path, link);
  CHECK_FALSE(is_entry(link, kDigest));
  const fs::path pipe = fs::path(folder.path()) / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(is_entry(pipe, kDigest));
  CHECK_FALSE(is_entry(folder.path(), kDigest));
  CHECK_FALSE(is_entry("/nowhere", kDigest));
}

TEST_CASE("cache: an entry of another user is none") {
  if (::geteuid() != 0) return;  // only root can give a file away
  const test::TemporaryDirectory folder;
  const fs::path path = made_entry(folder);
  REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
  CHECK_FALSE(is_entry(path, kDigest));
}

TEST_CASE("cache: files that a compiler left readable to all become private with their seal") {
  const test::TemporaryDirectory folder;
  const fs::path path = entry_path(folder.path(), kDigest);
  write(path, "object");
  REQUIRE(::chmod(path.c_str(), 0777) == 0);
  REQUIRE(seal_entry(path, kDigest).is_ok());
  CHECK(is_entry(path, kDigest));
}

TEST_CASE("cache: the folder is made private where it is missing, with those above it") {
  const test::TemporaryDirectory root;
  const std::string path = root.path() + "/a/b/cache/";
  const mode_t before = ::umask(0);
  const Status status = folder_status(path);
  ::umask(before);
  CHECK(status.text() == "OK");
  for (const char* each : {"/a", "/a/b", "/a/b/cache"}) {
    struct stat info = {};
    REQUIRE(::stat((root.path() + each).c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
  }
}

TEST_CASE("cache: without CASYNC_CACHE_DIR it is below XDG_CACHE_HOME, else below HOME") {
  const test::TemporaryDirectory root;
  const ScopedVariable none("CASYNC_CACHE_DIR", ""), home("HOME", (root.path() + "/home").c_str());
  {
    const ScopedVariable cache("XDG_CACHE_HOME", (root.path() + "/xdg").c_str());
    CHECK(cache_folder().value() == root.path() + "/xdg/casync");
  }
  const ScopedVariable cache("XDG_CACHE_HOME", "");
  CHECK(cache_folder().value() == root.path() + "/home/.cache/casync");
}

TEST_CASE("cache: a folder that others may write to, that is a link or a file is refused by name") {
  const test::TemporaryDirectory root;
  const std::string path = root.path() + "/cache";
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  for (const mode_t mode : {0770, 0707, 01777}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const Status status = folder_status(path);
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK_THAT(status.message(), Catch::Contains(path) && Catch::Contains("written by others"));
  }
  REQUIRE(::chmod(path.c_str(), 0755) == 0);
  CHECK(folder_status(path).is_ok());
  fs::create_symlink(path, root.path() + "/link");
  CHECK_THAT(folder_status(root.path() + "/link").message(), Catch::Contains("is not a folder"));
  write(root.path() + "/file", "");
  CHECK_THAT(folder_status(root.path() + "/file").message(), Catch::Contains("is not a folder"));
  CHECK_FALSE(folder_status("/proc/nowhere/cache").is_ok());
}

TEST_CASE("cache: a folder in one where others may replace it is refused, but for a sticky one") {
  const test::TemporaryDirectory root;
  const std::string open = root.path() + "/open";
  REQUIRE(::mkdir(open.c_str(), 0700) == 0);
  REQUIRE(::chmod(open.c_str(), 0777) == 0);
  CHECK_THAT(folder_status(open + "/cache").message(), Catch::Contains(open + " can be written by others"));
  REQUIRE(::chmod(open.c_str(), 01777) == 0);
  CHECK(folder_status(open + "/cache").is_ok());
}

TEST_CASE("cache: a folder below one of another user, who may replace it, is refused") {
  if (::geteuid() != 0) return;  // only root can give a folder away
  const test::TemporaryDirectory root;
  const std::string theirs = root.path() + "/theirs", mine = theirs + "/mine";
  REQUIRE(::mkdir(theirs.c_str(), 0755) == 0);
  REQUIRE(::mkdir(mine.c_str(), 0700) == 0);
  CHECK(folder_status(mine + "/cache").is_ok());
  REQUIRE(::chown(theirs.c_str(), 12345, 12345) == 0);
  CHECK_THAT(folder_status(mine + "/cache").message(), Catch::Contains(theirs + " belongs to user 12345"));
}

TEST_CASE("cache: one in TMPDIR takes the place of a folder that cannot be used") {
  const test::TemporaryDirectory root;
  const std::string temporary = root.path() + "/tmp", open = root.path() + "/open";
  for (const std::string& each : {temporary, open}) REQUIRE(::mkdir(each.c_str(), 0700) == 0);
  REQUIRE(::chmod(open.c_str(), 0777) == 0);
  write(root.path() + "/file", "");
  const std::string spare = temporary + "/casync-cache-" + std::to_string(::geteuid());
  const ScopedVariable variable("TMPDIR", temporary.c_str());
  for (const std::string& wanted : {open, open + "/cache", root.path() + "/file/cache"}) {
    const ScopedVariable refused("CASYNC_CACHE_DIR", wanted.c_str());
    const Result<fs::path> folder = cache_folder();
    REQUIRE(folder.status().text() == "OK");
    CHECK(*folder == spare);
  }
  struct stat info = {};
  REQUIRE(::stat(spare.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  const ScopedVariable refused("CASYNC_CACHE_DIR", open.c_str());
  SECTION("others may write to it") {
    REQUIRE(::chmod(spare.c_str(), 0777) == 0);
    CHECK_THAT(cache_folder().status().message(), Catch::Contains(open + " can be written by others") &&
                                                      Catch::Contains(spare + " can be written by others"));
  }
  SECTION("others may replace it") {
    REQUIRE(::chmod(temporary.c_str(), 0777) == 0);
    CHECK_THAT(cache_folder().status().message(), Catch::Contains(temporary + " can be written by others"));
  }
  SECTION("it is a link") {
    REQUIRE(::rmdir(spare.c_str()) == 0);
    fs::create_directory_symlink(root.path(), spare);
    CHECK_THAT(cache_folder().status().message(), Catch::Contains(spare + " is not a folder"));
  }
}

TEST_CASE("cache: nothing is made in a TMPDIR where others may replace it") {
  const test::TemporaryDirectory root;
  const ScopedVariable wanted("CASYNC_CACHE_DIR", "/proc/nowhere/cache"), variable("TMPDIR", root.path().c_str());
  REQUIRE(::chmod(root.path().c_str(), 0777) == 0);
  CHECK_THAT(cache_folder().status().message(), Catch::Contains(root.path() + " can be written by others"));
  CHECK(fs::is_empty(root.path()));
}

TEST_CASE("cache: a new file follows no link and replaces nothing") {
  const test::TemporaryDirectory folder;
  const fs::path target = fs::path(folder.path()) / "target", link = fs::path(folder.path()) / "link";
  fs::create_symlink(target, link);
  CHECK_FALSE(write_new_file(link, "text").is_ok());
  CHECK_FALSE(fs::exists(target));
  CHECK(write_new_file(target, "text").is_ok());
  CHECK_FALSE(write_new_file(target, "other").is_ok());
  CHECK(content_of(target) == "text");
}

TEST_CASE("cache: the holder of the lock is alone, and nobody waits for ever") {
  const test::TemporaryDirectory folder;
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const EntryLock lock(folder.path(), kDigest, 60);
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      --inside;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  const EntryLock held(folder.path(), kDigest, 0);
  const EntryLock late(folder.path(), kDigest, 0.05);
}

TEST_CASE("cache: nobody waits for a lock that was given back, though a forked child still holds its file") {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() + "/" + kDigest + ".lock";
  const UniqueFd of_child(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::flock(of_child.get(), LOCK_EX) == 0);
  bool held = false;
  std::atomic<bool> ended = false;
  std::thread waiting([&] {
    const EntryLock lock(folder.path(), kDigest, 10);
    held = fs::exists(path);  // a file of its own, which it removes as it gives the lock back
    ended = true;
  });
  const auto opened = [&] {
    std::error_code gone;
    const fs::directory_iterator all("/proc/self/fd");
    return std::count_if(begin(all), end(all), [&](const auto& fd) { return fs::read_symlink(fd, gone) == path; });
  };
  while (opened() < 2 && !ended) std::this_thread::yield();
  REQUIRE(::unlink(path.c_str()) == 0);
  waiting.join();
  CHECK(held);
}

TEST_CASE("cache: names of files that are being made are unique also among processes of the same number") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string name = unique_name("");
    ::_exit(::write(writer.get(), name.data(), name.size()) == static_cast<ssize_t>(name.size()) ? 0 : 1);
  }
  REQUIRE(child > 0);
  writer.reset();
  std::string other(200, '\0');
  const ssize_t size = ::read(reader.get(), other.data(), other.size());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE((status == 0 && size > 0));
  other.resize(static_cast<std::size_t>(size));
  const auto without_number = [](const std::string& name) { return name.substr(name.find('.', 1)); };
  CHECK(without_number(other) != without_number(unique_name("")));
}

TEST_CASE("cache: a folder that passes goes with its owner, unless it is kept") {
  fs::path gone, kept;
  {
    Result<PassingFolder> one = PassingFolder::make(), other = PassingFolder::make();
    REQUIRE((one.is_ok() && other.is_ok()));
    gone = one->path();
    kept = other->path();
    write(gone / "file", "text");
    other->keep();
  }
  CHECK_FALSE(fs::exists(gone));
  CHECK(fs::exists(kept));
  fs::remove_all(kept);
}

TEST_CASE("cache: what killed compilations left goes after an hour, and nothing else does") {
  const test::TemporaryDirectory folder;
  const fs::path root = folder.path();
  const auto age = [](const fs::path& path, int seconds) {
    const timespec past{std::time(nullptr) - seconds, 0};
    const timespec times[] = {past, past};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
  };
  const std::string left[] = {kDigest + ".71.0.cc", kDigest + ".71.0.so", kDigest + ".71.0.cubin", kDigest + ".lock"};
  const std::string stay[] = {kDigest + ".so", kDigest + ".cc",     kDigest + ".cubin",
                              "a.b.c.txt",     kOther + ".72.0.so", kOther + ".lock"};
  for (const std::string& name : left) write(root / name, "x");
  for (const std::string& name : stay) write(root / name, "x");
  for (const std::string& name : left) age(root / name, 3700);
  for (const std::string& name : stay) age(root / name, name.starts_with(kOther) ? 3500 : 100'000);
  remove_leftovers(root);
  for (const std::string& name : left) CHECK_FALSE(fs::exists(root / name));
  for (const std::string& name : stay) CHECK(fs::exists(root / name));
}

TEST_CASE("cache: folders that killed processes left in TMPDIR go after a day") {
  const test::TemporaryDirectory folder;
  const fs::path root = folder.path(), old = root / "casync-codec-old", fresh = root / "casync-codec-new";
  for (const fs::path& each : {old, fresh}) {
    fs::create_directory(each);
    write(each / "text.cc", "x");
  }
  const timespec past{std::time(nullptr) - 90'000, 0};
  const timespec times[] = {past, past};
  REQUIRE(::utimensat(AT_FDCWD, old.c_str(), times, 0) == 0);
  const ScopedVariable temporary("TMPDIR", root.c_str());
  REQUIRE(PassingFolder::make().is_ok());
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(fresh));
}

}  // namespace casync::compll
