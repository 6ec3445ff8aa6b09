// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group_watchers.h"

#include <utility>

namespace casync::runtime {

void GroupWatchers::add(std::function<void(const Status&)> watcher) {
  const std::lock_guard lock(mutex_);
  failure_.push_back(std::move(watcher));
}

void GroupWatchers::set_agreement(std::function<void(const Agreement&)> watcher) {
  const std::lock_guard lock(mutex_);
  agreement_ = std::move(watcher);
}

void GroupWatchers::set_need(std::function<void(const std::string&, std::uint32_t)> watcher) {
  const std::lock_guard lock(mutex_);
  need_ = std::move(watcher);
}

void GroupWatchers::add_leave(std::function<void(Rank, const LastWords&)> watcher) {
  leave_.push_back(std::move(watcher));
}

void GroupWatchers::tell_failed(const Status& cause) {
  std::vector<std::function<void(const Status&)>> watchers;
  {
    const std::lock_guard lock(mutex_);
    watchers.swap(failure_);
  }
  for (const auto& watcher : watchers) watcher(cause);
}

void GroupWatchers::tell_agreed(const Agreement& agreement) const {
  std::function<void(const Agreement&)> watcher;
  {
    const std::lock_guard lock(mutex_);
    watcher = agreement_;
  }
  if (watcher) watcher(agreement);
}

void GroupWatchers::tell_needed(const std::string& name, std::uint32_t step) const {
  std::function<void(const std::string&, std::uint32_t)> watcher;
  {
    const std::lock_guard lock(mutex_);
    watcher = need_;
  }
  if (watcher) watcher(name, step);
}

void GroupWatchers::tell_left(Rank rank, const LastWords& words) const {
  for (const auto& watcher : leave_) watcher(rank, words);
}

}  // namespace casync::runtime
