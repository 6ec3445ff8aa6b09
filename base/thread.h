// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace casync {

/// Counts the thread that has it for seconds_of_started_threads() while it lives.
class StartedThread {
 public:
  StartedThread();
  ~StartedThread();
  StartedThread(const StartedThread&) = delete;
  StartedThread& operator=(const StartedThread&) = delete;

 private:
  clockid_t clock_;
};

/// Processor seconds that all threads of start_thread() in this process have taken so far, ended ones included. Any
/// thread.
double seconds_of_started_threads();

/// Processor seconds that the calling thread has taken.
double seconds_of_this_thread();

/// The processor clock of one thread, for others to read.
class ThreadClock {
 public:
  /// `thread` runs.
  explicit ThreadClock(std::thread& thread);
  /// Processor seconds that the thread has taken so far; 0 once it has ended. Any thread.
  double seconds() const;

 private:
  clockid_t clock_;
};

/// Starts a thread of this library: named (the kernel keeps 15 characters), and with all signals blocked, because
/// signals are the program's and its handlers run on its threads. `function` lets no exception out.
/// Unavailable: the system has no thread left, and its reason.
template <class Function>
Result<std::thread> start_thread(const std::string& name, Function function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread begins with its maker's mask
  std::thread thread;
  Status status;
  try {
    thread = std::thread([run = std::move(function)]() mutable {
      const StartedThread counted;
      run();
    });
    pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
  } catch (const std::system_error& error) {
    status = unavailable("cannot start the thread " + name + ": " + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!status) return status;
  return thread;
}

}  // namespace casync
