// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/status.h"
#include "runtime/session/farewell.h"
#include "runtime/session/gone_ranks.h"
#include "runtime/session/job_end.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_tables.h"

namespace casync::runtime {

/// This rank leaves its job: it says goodbye, serves those who still need it, and ends the session's threads. Threads
/// of the program; takes the session's mutex for moments.
class Departure {
 public:
  /// Borrows all of these. The parts have their executor by the first call.
  Departure(const SessionParts& parts, const SessionTables& tables, GoneRanks& gone, JobEnd& job_end)
      : parts_(parts), tables_(tables), gone_(gone), job_end_(job_end) {}

  /// Answers asynchronous ranks that have not ended their steps. A server that has none agrees with the others on its
  /// gradients by `agree`. Errors as Executor::serve_others and of `agree`.
  Status serve_others(const std::function<Status()>& agree);
  /// Leaves, once. `served`: of serve_others(), if its rank is asynchronous. Errors as Session::close.
  Status leave(const Status& served);
  /// Returns true if the executor's threads have not ended: all that they use is theirs.
  bool is_abandoned() const { return abandoned_; }

 private:
  LastWords words_of(const Farewell& completed) const;
  bool is_complete() const;
  Status say_goodbye(const Farewell& completed);
  Status wait_for_others(const Farewell& completed);
  Status abandon();

  const SessionParts& parts_;
  const SessionTables& tables_;
  GoneRanks& gone_;
  JobEnd& job_end_;
  bool all_ended_ = false;  ///< all asynchronous ranks have ended their steps; under the session's mutex
  bool abandoned_ = false;
};

}  // namespace casync::runtime
