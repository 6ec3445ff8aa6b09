// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>

#include "base/status.h"

namespace casync::runtime {

/// The close of a session, which one thread carries out. Threads of the program. The mutex is taken ahead of all
/// others.
class SingleClose {
 public:
  /// Calls `close` the first time. A thread that comes meanwhile waits for it; every call returns its status.
  template <class Close>
  Status run(const Close& close) {
    const std::lock_guard lock(mutex_);
    if (!status_) status_ = close();
    return *status_;
  }

 private:
  std::mutex mutex_;
  std::optional<Status> status_;  ///< none: nobody has closed yet
};

}  // namespace casync::runtime
