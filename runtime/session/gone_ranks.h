// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <set>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

/// The ranks that take part no more, this one included. Any thread. The mutex is taken last, and for moments: the
/// group's thread waits for it, which keeps the heartbeat.
class GoneRanks {
 public:
  /// This rank takes part no more. Under the session's mutex.
  void close() { closed_.store(true); }
  bool closed() const { return closed_.load(); }

  /// A rank can no longer take part. Returns false if no other rank has to hear of it.
  bool note_broken(Rank peer, const Status& why);
  /// A rank said goodbye. `is_ahead`: it may have completed more steps than this one, so this rank need not end yet.
  /// Returns false if this rank does not need to know.
  bool note_left(Rank peer, const Status& why, bool is_ahead);

  /// No rank goes while the caller has this.
  [[nodiscard]] std::unique_lock<std::mutex> hold() const { return std::unique_lock(mutex_); }
  /// Why the first rank to go can no longer take part; OK: none has gone. While the caller has hold().
  const Status& first() const { return first_; }

 private:
  bool note(Rank peer, const Status& why);

  std::atomic<bool> closed_{false};
  mutable std::mutex mutex_;  ///< guards the members below
  Status first_;
  std::set<Rank> left_;  ///< the ranks that said goodbye
};

}  // namespace casync::runtime
