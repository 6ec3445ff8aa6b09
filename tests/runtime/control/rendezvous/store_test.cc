// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/rendezvous/store.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <future>

#include "runtime/control/wire/private_file.h"
#include "tests/runtime/control/control_support.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

TEST_CASE("file store: a value is seen by who waits for it, and replaced as a whole") {
  TemporaryDirectory directory;
  const auto writer = make_file_store(directory.path() + "/a/b");
  const auto reader = make_file_store(directory.path() + "/a/b");
  auto waiting = std::async(std::launch::async, [&] { return reader->get("key", after(Seconds(10))); });
  std::this_thread::sleep_for(Seconds(0.05));
  REQUIRE(writer->set("key", "value").is_ok());
  auto value = waiting.get();
  REQUIRE(value.status().text() == "OK");
  CHECK(*value == "value");
  const std::string binary("a\0b\n", 4);
  REQUIRE(writer->set("key", binary).is_ok());
  CHECK(*reader->get("key", Clock::now()) == binary);
}

TEST_CASE("file store: its files can be read by its user only, and are gone with the store") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/private";
  {
    const auto store = make_file_store(path);
    REQUIRE(store->set("key", "secret").is_ok());
    struct stat info = {};
    REQUIRE(stat((path + "/key").c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    REQUIRE(stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
  }
  CHECK(std::filesystem::is_empty(path));
}

TEST_CASE("file store: a store takes away what it wrote, not what a later one put there") {
  TemporaryDirectory directory;
  auto first = make_file_store(directory.path());
  const auto second = make_file_store(directory.path());
  REQUIRE(first->set("key", "first").is_ok());
  REQUIRE(second->set("key", "second").is_ok());
  first.reset();
  CHECK(*second->get("key", Clock::now()) == "second");
}

TEST_CASE("file store: a later entry that has got the number of a replaced file is not taken for it") {
  TemporaryDirectory directory;
  const auto number = [&] {
    struct stat info = {};
    REQUIRE(lstat((directory.path() + "/key").c_str(), &info) == 0);
    return info.st_ino;
  };
  auto first = make_file_store(directory.path());
  const auto second = make_file_store(directory.path());
  REQUIRE(first->set("key", "first").is_ok());
  const ino_t earlier = number();
  // Most file systems give the number of a file again once it is gone.
  for (int turn = 0; turn < 100 && (turn == 0 || number() != earlier); ++turn) {
    REQUIRE(second->set("key", "second").is_ok());
  }
  first.reset();
  const Result<std::string> found = second->get("key", Clock::now());
  REQUIRE(found.status().text() == "OK");
  CHECK(*found == "second");
}

TEST_CASE("file store: a forked child takes nothing of its parent's away") {
  TemporaryDirectory directory;
  auto store = make_file_store(directory.path());
  REQUIRE(store->set("key", "value").is_ok());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    store.reset();
    _exit(0);
  }
  int ended = -1;
  REQUIRE(waitpid(child, &ended, 0) == child);
  CHECK(ended == 0);
  const Result<std::string> found = store->get("key", Clock::now());
  REQUIRE(found.status().text() == "OK");
  CHECK(*found == "value");
  store.reset();
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("file store: time-outs, bad keys, open files and foreign directories are errors that say what to do") {
  TemporaryDirectory directory;
  const auto store = make_file_store(directory.path());
  CHECK(store->get("none", after(Seconds(0.05))).status().code() == StatusCode::kTimeout);
  for (const char* key : {"", "../x", "a/b", ".hidden"}) CHECK(!store->set(key, "x").is_ok());
  std::ofstream(directory.path() + "/open") << "value";
  chmod((directory.path() + "/open").c_str(), 0644);
  CHECK_THAT(store->get("open", Clock::now()).status().message(), Contains("chmod 600"));
  std::filesystem::create_symlink("/etc/passwd", directory.path() + "/link");
  CHECK(store->get("link", Clock::now()).status().code() == StatusCode::kUnavailable);
  chmod(directory.path().c_str(), 0777);
  CHECK_THAT(store->set("key", "x").message(), Contains("chmod o-w"));
  CHECK_THAT(make_file_store("/proc/casync")->set("key", "x").message(), Contains("/proc/casync"));
  CHECK(store->set("key", std::string(100000, 'x')).code() == StatusCode::kInvalidArgument);
}

TEST_CASE("file store: a file that was replaced on a network file system while it was read is not there yet") {
  CHECK(is_absence(ENOENT));
  CHECK(is_absence(ESTALE));
  CHECK_FALSE(is_absence(EACCES));
}

TEST_CASE("callback store: the program's functions are asked, with the time left") {
  SharedMap map;
  const auto store = make_callback_store(map.functions());
  CHECK(store->get("key", after(Seconds(0.05))).status().code() == StatusCode::kTimeout);
  CHECK(store->get("key", Clock::now() - std::chrono::seconds(5)).status().code() == StatusCode::kTimeout);
  REQUIRE(store->set("key", "value").is_ok());
  CHECK(*store->get("key", Clock::now()) == "value");
}
