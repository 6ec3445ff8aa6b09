// SPDX-License-Identifier: Apache-2.0
#include "compll/load/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

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

Status folder_status(const std::string& folder) {
  const ScopedVariable variable("CASYNC_CACHE_DIR", folder.c_str());
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
  CHECK(folder_status(path).text() == "OK");
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
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
  using Clock = std::chrono::steady_clock;
  const test::TemporaryDirectory folder;
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const EntryLock lock(folder.path(), kDigest, Clock::now() + std::chrono::seconds(60));
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      --inside;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  const EntryLock held(folder.path(), kDigest, Clock::now());
  const EntryLock late(folder.path(), kDigest, Clock::now() + std::chrono::milliseconds(50));
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
  const std::string left[] = {kDigest + ".71.0.cc", kDigest + ".71.0.so", kDigest + ".lock"};
  const std::string stay[] = {kDigest + ".so", kDigest + ".cc", "a.b.c.txt", kOther + ".72.0.so", kOther + ".lock"};
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
