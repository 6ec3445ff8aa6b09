// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/control/group/role.h"
#include "runtime/control/wire/fd.h"

namespace casync::runtime {

/// The thread that keeps a rank's heartbeat: sleeps in epoll_wait(2) until a socket, a beat or a request is due. It
/// takes no lock but its own for a push, so that nothing the program does can silence it.
class GroupThread {
 public:
  GroupThread() = default;
  ~GroupThread() { stop(); }
  GroupThread(const GroupThread&) = delete;
  GroupThread& operator=(const GroupThread&) = delete;

  /// `events` outlives this: should anything on the thread throw, the group has failed with Internal.
  /// Unavailable: out of file descriptors or threads.
  Status start(std::unique_ptr<Role> role, RoleEvents& events, Seconds beat);
  /// Runs `request` on the thread, soon. Any thread; dropped when the thread has ended.
  void post(std::function<void(Role&)> request);
  /// Ends the thread. Queued bytes have a fifth of a second to arrive at the ranks below, or until `latest` if that is
  /// later. Any thread but that one.
  void stop(Clock::time_point latest = {});
  bool is_current() const { return id_ == std::this_thread::get_id(); }

 private:
  void run() noexcept;
  void serve();
  void collapse(const char* what) noexcept;
  bool run_requests();
  void go_around(Clock::time_point latest);
  void notice_stall(Clock::time_point expected);

  PollSet set_;
  std::unique_ptr<Role> role_;
  // Serves requests after a collapse, so that callers are told of the failure. Made at the start: then there may be no
  // memory.
  std::unique_ptr<Role> after_collapse_;
  RoleEvents* events_ = nullptr;
  Clock::duration beat_{};
  Fd wake_;
  std::mutex mutex_;
  std::vector<std::function<void(Role&)>> requests_;  // guarded by mutex_
  bool stopping_ = false, has_ended_ = false;         // guarded by mutex_
  Clock::time_point latest_{};                        // guarded by mutex_ until stopping_
  Clock::time_point awake_;                           // when this thread last knew that it runs
  std::atomic<std::thread::id> id_;                   // of thread_, which may just be joined
  std::mutex stop_mutex_;
  std::thread thread_;  // guarded by stop_mutex_ once it runs
};

}  // namespace casync::runtime
