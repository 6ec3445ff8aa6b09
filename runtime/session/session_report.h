// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_tables.h"

namespace casync::runtime {

/// The counters of a session, and its timeline's file.
class SessionReport {
 public:
  /// Borrows both. The parts are connected by the first call.
  SessionReport(const SessionParts& parts, const SessionTables& tables) : parts_(parts), tables_(tables) {}

  /// The step under way has ended. Under the session's mutex.
  void step_ended();
  /// Takes the session's mutex.
  SessionStats stats() const;
  /// Removes the file that write_trace() will write, if another session has left it: after a failure it would be taken
  /// for this session's.
  void remove_old_trace() const;
  /// Writes the timeline, if there is one and the ranks have met. Once nothing of the session is under way.
  void write_trace() const;

 private:
  std::string trace_path() const;
  void record_step();

  const SessionParts& parts_;
  const SessionTables& tables_;
  // Under the session's mutex.
  std::uint32_t steps_ = 0;  ///< ended in this session, loaded ones apart
  std::uint64_t first_step_allocations_ = 0;
  double spent_s_ = 0;  ///< processor time of the executor's threads beyond codecs until then; with a timeline
};

}  // namespace casync::runtime
