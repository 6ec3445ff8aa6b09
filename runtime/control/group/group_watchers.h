// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/control/group/claim_book.h"
#include "runtime/control/group/last_words.h"

namespace casync::runtime {

/// The program's functions that hear of a group's events, on the group's thread. They are set on any thread and called
/// without the lock, so they may set others.
class GroupWatchers {
 public:
  /// Hears of the failure, once.
  void add(std::function<void(const Status&)> watcher);
  void set_agreement(std::function<void(const Agreement&)> watcher);
  void set_need(std::function<void(const std::string&, std::uint32_t)> watcher);
  /// On the group's thread.
  void add_leave(std::function<void(Rank, const LastWords&)> watcher);

  // On the group's thread.
  void tell_failed(const Status& cause);
  void tell_agreed(const Agreement& agreement) const;
  void tell_needed(const std::string& name, std::uint32_t step) const;
  void tell_left(Rank rank, const LastWords& words) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::function<void(const Status&)>> failure_;  // those that have not been called
  std::function<void(const Agreement&)> agreement_;
  std::function<void(const std::string&, std::uint32_t)> need_;
  std::vector<std::function<void(Rank, const LastWords&)>> leave_;  // of the group's thread alone
};

}  // namespace casync::runtime
