// SPDX-License-Identifier: Apache-2.0
//
// The part of a plugin's native library that no framework takes part in: sessions by number, and submissions that end
// in a call. C++17, because it is compiled with the flags of the installed framework.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "plugins/c_api/casync.h"

namespace casync::native {

/// The outcome of a call to the C interface.
struct Outcome {
  casync_status status = CASYNC_OK;
  std::string message;

  bool ok() const { return status == CASYNC_OK; }
  /// The outcome of the call that this thread has just made.
  static Outcome of(casync_status status) {
    return {status, status == CASYNC_OK ? std::string() : std::string(casync_last_error())};
  }
};

/// Runs exactly once per submission that was accepted, on a thread of the session. The gradient's memory is the
/// caller's from then on. It must not wait for another gradient.
using Done = std::function<void(const Outcome&)>;

/// One session and its submissions under way. Any thread may call anything. A submission keeps this object alive.
class Flights : public std::enable_shared_from_this<Flights> {
 public:
  /// Borrows `session` until drain() has returned OK.
  explicit Flights(casync_session* session);
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;

  /// Starts reducing `bytes` bytes at `data` in place. Not OK: nothing was started, and `done` will not run.
  Outcome submit(std::uint32_t gradient, void* data, std::size_t bytes, Done done);

  /// Ends the step, once all that was submitted is done.
  Outcome step(bool* finite, std::string* first_non_finite);

  /// Ends the job on all ranks.
  void abort(const std::string& reason);

  /// The number of submissions under way.
  std::size_t count() const;

  /// Lets go of the session, which is closed or has failed by now: later calls are Aborted. Waits until no submission
  /// and no call is under way, for the session's time limit at most, which begins with the first drain().
  /// Timeout: says how many are. They use the session and the gradients' memory, so neither may be freed: the caller
  /// keeps both, for as long as the program lives, or until a later drain() returns OK.
  Outcome drain();

 private:
  struct Flight {
    std::shared_ptr<Flights> flights;
    Done done;
  };
  class Call;

  static void land(void* flight, casync_handle handle, casync_status status, const char* message);
  void end_one(std::size_t& of);

  casync_session* const session_;
  std::chrono::duration<double> limit_{0};
  mutable std::mutex mutex_;  // what follows
  std::condition_variable ended_;
  std::size_t count_ = 0;  // of submissions
  std::size_t calls_ = 0;  // of the session's functions
  bool let_go_ = false;
  std::chrono::steady_clock::time_point deadline_;  // once it is let go of
};

/// Makes `session` known. Graphs and engine operations name it by the number that comes back, which is never used
/// again.
int attach(casync_session* session);
/// Forgets it, once nothing of it is under way. Otherwise as Flights::drain(): it is still known then.
Outcome detach(int number);
/// Finds a session's flights; null if there is no such session, or it was forgotten.
std::shared_ptr<Flights> find(int number);

}  // namespace casync::native
