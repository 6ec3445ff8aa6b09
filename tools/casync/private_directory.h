// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace casync::tools {

/// A fresh directory that only this user can enter (0700), under TMPDIR or /tmp; removed with all that is in it
/// when its owner goes.
class PrivateDirectory {
 public:
  /// Unavailable: it cannot be made; says where and why.
  static Result<PrivateDirectory> make();

  PrivateDirectory() = default;
  PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  PrivateDirectory& operator=(PrivateDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~PrivateDirectory();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace casync::tools
