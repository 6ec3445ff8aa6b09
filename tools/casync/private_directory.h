// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace casync::tools {

/// A fresh directory that only this user can enter (0700), under TMPDIR or /tmp; removed with all that is in it
/// when its owner goes.
class PrivateDirectory {
 public:
  /// Unavailable: it cannot be made; says where and why.
  static Result<PrivateDirectory> make();
  /// The same; it is removed also if a signal ends this process. Another process does that, once this one and those
  /// that it has forked meanwhile have ended. Call ahead of starting threads: it forks.
  static Result<PrivateDirectory> make_watched();

  PrivateDirectory() = default;
  PrivateDirectory(PrivateDirectory&& other) noexcept { *this = std::move(other); }
  PrivateDirectory& operator=(PrivateDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(alive_, other.alive_);
    std::swap(watcher_, other.watcher_);
    return *this;
  }
  ~PrivateDirectory();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd alive_;      ///< closed in all processes: they have ended
  pid_t watcher_ = -1;  ///< the other process; -1: there is none
};

}  // namespace casync::tools
