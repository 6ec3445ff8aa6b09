// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Gradients under way, and the end with its cause: threads of the program wait for these. Any thread.
///
/// A failure has two moments: fail() stops all work, and end() says that it has stopped. Waiters learn of the failure
/// at the second one, when callers' memory is theirs again.
class Waiters {
 public:
  /// The number of gradients under way.
  int active() const { return active_.load(); }
  void begin(int gradients) { active_.fetch_add(gradients); }
  void finish(int gradients) { active_.fetch_sub(gradients); }

  /// The first cause stands. Returns false if there was one.
  bool fail(Status cause);
  bool failing() const { return failing_.load(); }
  /// OK while there is none.
  Status failure() const;

  /// Waits until `ready` returns true, which is asked after each announce() and nudge(), under a lock. Returns the
  /// failure after end(), whatever `ready` says; nullopt: neither by the deadline.
  std::optional<Status> wait_until(const std::function<bool()>& ready, Clock::time_point deadline) const;
  /// Lets waiters look again.
  void nudge();
  /// The same, with what the transport has moved.
  void announce(const TransportStats& stats);
  TransportStats stats() const;

  /// Nobody needs this rank any more.
  void settle();
  bool is_settled() const { return settled_.load(); }

  /// Stops all work with Aborted, unless it has failed. Returns true if it has not.
  bool close();
  /// All work has stopped. `unsettled` tells the waiters who may still write to memory; "": nobody.
  void end(const TransportStats& stats, const std::string& unsettled = {});
  /// Waits for end(). Returns false at the deadline.
  bool wait_for_end(Clock::time_point deadline) const;
  /// Returns true if all work has stopped, but for a transport or a device that may still write.
  bool holds_memory() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<int> active_{0};
  std::atomic<bool> failing_{false};
  std::atomic<bool> settled_{false};
  Status failure_;             ///< under mutex_
  bool ended_ = false;         ///< under mutex_
  bool holds_memory_ = false;  ///< under mutex_: end() had a text
  TransportStats stats_;       ///< under mutex_
};

}  // namespace casync::runtime
