// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control/group/group_watchers.h"
#include "runtime/control/group/role.h"

namespace casync::runtime {

/// The events that the group's thread reports and the program's threads wait for. Any thread.
class GroupState final : public RoleEvents {
 public:
  explicit GroupState(Rank self) : self_(self) {}

  // On the group's thread.
  void joined(std::vector<Identity> roster) override;
  void failed(const Status& cause) override;
  void gathered(Result<std::vector<BlobRef>> blobs) override;
  void agreed(const Agreement& agreement) override;
  void needed(const std::string& name, std::uint32_t step) override { watchers_.tell_needed(name, step); }
  void left(Rank rank, const LastWords& words) override;
  void alone(Rank leaver) override;
  /// Calls the watchers of failures that have not been called, if there is one.
  void run_watchers();
  /// Calls `watcher` for each other rank that has left, and for each that will.
  void add_leave_watcher(std::function<void(Rank, const LastWords&)> watcher);

  // On the program's threads. Each wait returns the failure as soon as there is one; nullopt: the deadline passed.
  std::optional<Status> wait_joined(Clock::time_point deadline);
  void expect_answer();
  std::optional<Result<std::vector<BlobRef>>> wait_answer(Clock::time_point deadline);
  std::optional<Status> wait_agreed(const std::string& name, Clock::time_point deadline);
  std::optional<Status> wait_all_left(Clock::time_point deadline);
  /// Returns false if there is no failure by then.
  bool wait_failed(Clock::time_point deadline);
  std::vector<Rank> not_left() const;
  Status failure() const;
  GroupWatchers& watchers() { return watchers_; }
  /// The ranks' identities, by rank; unchanged once joined.
  const std::vector<Identity>& roster() const { return roster_; }
  /// The number of ranks on this rank's machine.
  int local_ranks() const;
  /// Returns true if all ranks are this process.
  bool is_one_process() const;

 private:
  const Rank self_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Identity> roster_;
  Status failure_;
  std::optional<Result<std::vector<BlobRef>>> answer_;
  std::set<std::string> agreed_;
  std::map<Rank, LastWords> left_;
  std::optional<Rank> alone_without_;  // the rank that has left, and with it the way to rank 0
  GroupWatchers watchers_;             // called without the lock
};

}  // namespace casync::runtime
