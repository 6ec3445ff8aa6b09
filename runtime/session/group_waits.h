// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/session/group_table.h"
#include "runtime/session/grouped_step.h"
#include "runtime/session/run_record.h"
#include "runtime/session/session.h"
#include "runtime/session/session_lock.h"

namespace casync::runtime {

/// Waits for the results of groups and of their members: until the group has left, then until the wrapped session has
/// its result, of which each member gets its part when somebody looks for it. Threads of the program; takes the
/// session's lock where it does not say otherwise. A device that fails ends the job.
class GroupWaits {
 public:
  /// Borrows all of these. `timeout_s`: the session's. `record`: null if nothing is recorded.
  GroupWaits(Session& session, SessionLock& lock, const GroupedStep& step, const GroupTable& table, RunRecord* record,
             double timeout_s)
      : session_(session), lock_(lock), step_(step), table_(table), record_(record), timeout_s_(timeout_s) {}

  // As GroupedSession's.
  bool done(Handle handle) const;
  Status wait(Handle handle, double timeout_s, Waiter waiter);
  Status wait_any(std::span<const Handle> handles, Clock::time_point until, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done);
  Status note_exposed(Handle handle, double seconds);

  /// Returns once all results, which are there, are in their members' memory. With `lock` held, which it lets go of
  /// while it waits. Timeout: a device has not copied them within the session's limit; the memory of both stays in use,
  /// and the job has ended.
  Status hand_over_all(std::unique_lock<std::mutex>& lock);
  /// The same once no device copies a result, of those that somebody has looked for.
  Status wait_for_copies(std::unique_lock<std::mutex>& lock);
  /// Ends waits for groups that have not left, with Aborted; those that have end with the wrapped session. Under the
  /// lock.
  void close();
  /// Lets waits for any look again that have groups which had not left, and sleep in the wrapped session: it has to be
  /// nudged if this returns true. Under the lock.
  bool wake();

 private:
  /// Some handles as wait_any() finds them.
  struct Looked {
    std::vector<Handle> waiting, wholes;  ///< handles whose submissions have left; the wrapped session's of these
    bool copies = false;                  ///< a device copies some result
    bool may_leave = false;               ///< some group may leave
    Status late, no_more;  ///< a group has not left, or a copy not ended, by the session's limit; and does not leave
    /// The first moment at which one that has not left is to be logged, or ends the job.
    Clock::time_point first_due = Clock::time_point::max();

    /// Returns true if a result of some is made or copied: until that is over nobody hears of an end of the session.
    bool uses_memory() const { return copies || !wholes.empty(); }
  };

  /// A wait for any that sleeps in the wrapped session, and looks again if somebody says so.
  class Sleeper {
   public:
    /// Under the lock, which the destructor takes.
    explicit Sleeper(GroupWaits& waits) : waits_(waits) { waits_.sleepers_.push_back(&looks_again_); }
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    const std::atomic<bool>& looks_again() const { return looks_again_; }

   private:
    GroupWaits& waits_;
    std::atomic<bool> looks_again_{false};
  };

  Clock::duration limit() const { return std::chrono::duration_cast<Clock::duration>(Seconds(timeout_s_)); }
  Seconds log_interval() const;
  Status hand_over(const GroupedGradient& gradient, Handle handle) const;
  Result<bool> hands_over(const GroupedGradient& gradient, Handle handle) const;
  Status look(std::span<const Handle> handles, Looked* looked, std::vector<Handle>* done);
  Status look_until_copied(std::span<const Handle> handles, Clock::time_point until, std::unique_lock<std::mutex>& lock,
                           Looked* looked, std::vector<Handle>* done);
  void look_at_delay(const GroupedGradient& gradient, Handle handle, Looked* looked) const;
  void look_at_copy(const GroupedGradient& gradient, Handle handle, Looked* looked) const;
  Clock::time_point note_delay(const GroupedGradient& gradient, Handle handle, Clock::time_point now) const;
  bool does_not_leave(const SentGroup& group, std::uint32_t step) const;
  Status no_more(const SentGroup& group, std::uint32_t step) const;
  Status withdraw(std::span<const Handle> handles, const Status& why) const;
  Status wait_for_news(std::span<const Handle> handles, const Looked& looked, Clock::time_point until,
                       const std::atomic<bool>& interrupted, std::unique_lock<std::mutex>& lock);
  Status hand_over_ended(const Looked& looked, std::span<const Handle> ended, const Status& status,
                         std::vector<Handle>* done);
  Status wait_for(Handle handle, double timeout_s, Waiter waiter);
  Status wait_until_whole(const GroupedGradient& gradient, Handle handle, double timeout_s);
  Status take_result(Handle handle, Clock::time_point deadline, std::unique_lock<std::mutex>& lock);
  template <class Done>
  Status wait_for_groups(std::unique_lock<std::mutex>& lock, const Done& done);

  Session& session_;
  SessionLock& lock_;
  const GroupedStep& step_;
  const GroupTable& table_;
  RunRecord* const record_;
  const double timeout_s_;
  bool closed_ = false;                       ///< under the lock, as is the next
  std::vector<std::atomic<bool>*> sleepers_;  ///< those that sleep now: their looks_again_
};

}  // namespace casync::runtime
