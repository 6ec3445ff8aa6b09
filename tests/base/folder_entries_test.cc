// SPDX-License-Identifier: Apache-2.0
#include "base/folder_entries.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "tests/support/failing_folder.h"
#include "tests/support/temporary_directory.h"

namespace casync::test {
namespace {

constexpr int kFiles = 10;

/// A folder of files named 0 to 9.
struct Files {
  Files() {
    for (int i = 0; i < kFiles; ++i) std::ofstream(folder.path() + "/" + std::to_string(i)).put('x');
  }
  TemporaryDirectory folder;
};

}  // namespace

TEST_CASE("folder entries: all of a folder") {
  const Files files;
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : folder_entries(files.folder.path(), error)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  CHECK_FALSE(error);
  CHECK(names == std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

TEST_CASE("folder entries: a folder that is none is an error") {
  const Files files;
  std::error_code missing, file;
  CHECK(folder_entries(files.folder.path() + "/absent", missing).empty());
  CHECK(missing == std::errc::no_such_file_or_directory);
  CHECK(folder_entries(files.folder.path() + "/0", file).empty());
  CHECK(file == std::errc::not_a_directory);
}

TEST_CASE("folder entries: a folder that cannot be read to its end gives what came ahead, and the error") {
  const Files files;
  std::error_code error;
  std::size_t found = 0;
  {
    const FailingFolders gone(4);
    found = folder_entries(files.folder.path(), error).size();
  }
  CHECK(error == std::errc::io_error);
  CHECK(found >= 2);  // "." and ".." may be among the four
  CHECK(found <= 4);
}

}  // namespace casync::test
