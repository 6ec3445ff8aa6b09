// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/status.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_tables.h"

namespace casync::runtime {

/// Comparisons of the step that ranks are in: ahead of the first submission, and after a state was loaded. Any thread.
class StepComparisons {
 public:
  /// Borrows both. The parts are connected by the first call.
  StepComparisons(const SessionParts& parts, const SessionTables& tables) : parts_(parts), tables_(tables) {}

  /// Returns false if a comparison is due ahead of the next submission.
  bool are_done() const { return parts_.executor->comparisons().count() >= due_; }
  /// Compares steps with all ranks, if that is due, and waits for them. Takes the session's mutex for moments. Errors
  /// as Group::agree.
  Status compare();
  /// A peer waits for so many comparisons.
  void peer_compares(std::uint64_t comparisons);
  /// The session has gone to another step, which a comparison that is under way has not compared. `steps_before`: as
  /// Comparisons::want. Under the session's mutex.
  void state_loaded(std::uint32_t steps_before);

 private:
  const SessionParts& parts_;
  const SessionTables& tables_;
  std::mutex mutex_;  ///< one at a time compares; taken ahead of the session's
  std::atomic<std::uint64_t> due_{1};
  bool loaded_ = false;        ///< a state, since the last comparison began; under the session's mutex, as is:
  bool is_comparing_ = false;  ///< a comparison is under way
};

}  // namespace casync::runtime
