// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_tables.h"

namespace casync::runtime {

/// A session's memory between steps: what the runs keep, and what was loaded for gradients that have no run yet. Under
/// the session's mutex. Errors of the device's memory: as read_kept() and write_kept().
class SessionStates {
 public:
  /// Borrows both. The parts are connected by the first call.
  SessionStates(const SessionParts& parts, const SessionTables& tables) : parts_(parts), tables_(tables) {}

  /// As Session::state.
  Result<SessionState> take() const;
  /// InvalidArgument: as Session::load_state.
  Status check(const SessionState& state) const;
  /// Goes on from a state that is checked. The runs are in its step then.
  Status adopt(const SessionState& state);
  /// Gives a new run what was loaded for it. InvalidArgument: it does not fit.
  Status adopt_waiting(GradientRun& run);

  /// The step under way is complete. Keeps what it has left; if it is not `finite`, what was there earlier, and
  /// begins anew what it has changed in place.
  Status commit(bool finite);
  /// Warns once for each state that was loaded, after a step has used the declared gradients.
  void warn_of_strangers();

 private:
  Status begin_anew();
  Status check_committed() const;
  Status check_together(const std::string& what) const;
  std::string label_of(const GradientRun& run) const;
  Status check(const GradientRun& run, const GradientState& state) const;
  Status adopt(GradientRun& run, const GradientState* state, std::uint32_t step);

  const SessionParts& parts_;
  const SessionTables& tables_;
  std::map<std::string, GradientState> waiting_;  ///< by gradient name
  bool strangers_unsaid_ = false;                 ///< the warning of gradients that were never declared is due
};

}  // namespace casync::runtime
