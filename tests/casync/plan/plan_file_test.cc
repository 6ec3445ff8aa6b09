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

TEST_CASE("plan file: codecs' files are named as seen from the plan's folder, or from the root outside of it") {
  const LibraryFolder found(CASYNC_PLANIO_DIR);
  const Folder folder;
  const std::string inside = (folder.path() / "codecs/mine.cll").string(), beside = (folder.path() / "a.pse").string();
  Plan plan;
  plan.defaults.codec = CodecChoice{inside, {{"block", 64}}};
  plan.defaults.second_hop = CodecChoice{"./theirs.cll", {}};
  Choice joined, built_in;
  joined.codec = CodecChoice{beside + "+" + inside, {}};
  built_in.codec = CodecChoice{"int8", {}};
  plan.rules.push_back({"*.bias", joined});
  plan.gradients.push_back({"head", built_in});
  const std::string path = (folder.path() / "plan.txtpb").string();
  const std::string theirs = (fs::current_path() / "theirs.cll").string();
  const Result<std::string> own = text_of_plan(plan, path), any = text_of_plan(plan);
  REQUIRE(own.status().text() == "OK");
  REQUIRE(any.status().text() == "OK");
  for (const std::string& name : {std::string("codecs/mine.cll"), theirs, std::string("./a.pse+codecs/mine.cll")}) {
    CHECK(own->find("file: \"" + name + "\"") != std::string::npos);
  }
  for (const std::string& name : {inside, theirs, beside + "+" + inside}) {
    CHECK(any->find("file: \"" + name + "\"") != std::string::npos);
  }
  CHECK(own->find("name: \"int8\"") != std::string::npos);
  for (const std::string& text : {*own, *any}) {
    const Result<Plan> again = read_plan_file(folder.write("plan.txtpb", text));
    REQUIRE(again.status().text() == "OK");
    CHECK(again->defaults.codec == plan.defaults.codec);
    CHECK(again->defaults.second_hop->name == theirs);
    CHECK(again->rules[0].choice.codec == plan.rules[0].choice.codec);
  }
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
