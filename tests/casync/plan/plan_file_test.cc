// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "casync/planner/plan_file.h"
#include "tests/support/temporary_directory.h"

namespace casync {
namespace {

namespace fs = std::filesystem;

/// A folder of this test's own, to write files into.
class Folder {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name, std::ios::binary) << text;
    return (path() / name).string();
  }
  fs::path path() const { return directory_.path(); }

 private:
  test::TemporaryDirectory directory_;
};

/// Sets CASYNC_LIB_DIR for a scope.
class LibraryFolder {
 public:
  explicit LibraryFolder(const fs::path& folder) { setenv("CASYNC_LIB_DIR", folder.c_str(), 1); }
  ~LibraryFolder() { unsetenv("CASYNC_LIB_DIR"); }
};

}  // namespace

TEST_CASE("plan file: is read through the module, with the path in each message") {
  const LibraryFolder found(CASYNC_PLANIO_DIR);
  const Folder folder;
  const Result<Plan> plan = read_plan_file(folder.write("good.txtpb", "version: 1 seed: 7"));
  REQUIRE(plan.status().text() == "OK");
  CHECK(plan->seed == 7);
  const std::string bad = folder.write("bad.txtpb", "version: 1\nsede: 7");
  const Status status = read_plan_file(bad).status();
  CHECK(status.code() == StatusCode::kPlanError);
  CHECK(status.message().starts_with(bad + ":2:1: unknown field `sede`"));
}

TEST_CASE("plan file: anything but a readable file of at most 16 MiB is refused by name") {
  const LibraryFolder found(CASYNC_PLANIO_DIR);
  const Folder folder;
  const auto refusal = [](const std::string& path) { return read_plan_file(path).status().text(); };
  const std::string missing = (folder.path() / "missing.txtpb").string();
  CHECK(refusal(missing) == "InvalidArgument: plan file " + missing + ": no such file");
  CHECK(refusal(folder.path().string()) == "InvalidArgument: plan file " + folder.path().string() + ": not a file");
  const std::string large = folder.write("large.txtpb", "version: 1");
  fs::resize_file(large, 16_MiB + 1);
  CHECK(refusal(large) == "InvalidArgument: plan file " + large + ": 16777217 bytes, expected at most 16777216");
}

TEST_CASE("plan file: without the module the answer is Unavailable and names every place that was tried") {
  const Folder empty;
  const LibraryFolder nothing(empty.path());
  const fs::path program = fs::canonical("/proc/self/exe").parent_path();
  REQUIRE(!fs::exists(program / "libcasync_planio.so"));
  const Status status = read_plan_file(empty.write("good.txtpb", "version: 1")).status();
  CHECK(status.code() == StatusCode::kUnavailable);
  for (const fs::path& place : {empty.path(), program, (program / "../lib").lexically_normal()}) {
    CHECK(status.message().find((place / "libcasync_planio.so").string()) != std::string::npos);
  }
}

TEST_CASE("plan file: a module that is no module is passed over") {
  const Folder folder;
  const LibraryFolder junk(folder.path());
  folder.write("libcasync_planio.so", "not ELF");
  const Status status = read_plan_file(folder.write("good.txtpb", "version: 1")).status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message().find((folder.path() / "libcasync_planio.so").string() + ": ") != std::string::npos);
}

}  // namespace casync
