// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace casync::test {

/// A directory of its own that goes away with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory(std::filesystem::temp_directory_path()) {}
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  /// For a few small files: in memory, if the system has a folder there. To make and to remove files on a disc takes
  /// longer than a session's step. What is compiled may not run from there.
  static TemporaryDirectory in_memory() {
    std::error_code missing;
    const std::filesystem::path memory = "/dev/shm";
    const bool is_there = std::filesystem::is_directory(memory, missing) && access(memory.c_str(), W_OK | X_OK) == 0;
    return TemporaryDirectory(is_there ? memory : std::filesystem::temp_directory_path());
  }

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(const std::filesystem::path& parent) : path_((parent / "casync-test-XXXXXX").string()) {
    CASYNC_CHECK(mkdtemp(path_.data()) != nullptr);
  }

  std::string path_;
};

}  // namespace casync::test
