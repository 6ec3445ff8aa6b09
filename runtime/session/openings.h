// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "casync/strategies/owners.h"
#include "runtime/session/job_end.h"
#include "runtime/session/late_names.h"
#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_states.h"
#include "runtime/session/session_tables.h"
#include "runtime/session/step_starts.h"

namespace casync::runtime {

/// Opens gradients: this rank claims those that it has declared, and once all ranks have claimed one, the progress
/// thread makes its run and begins what was held until then. Takes the session's mutex where it does not say otherwise.
class Openings {
 public:
  /// Borrows all of these. The parts are connected by the first call.
  Openings(const SessionParts& parts, SessionTables& tables, StepStarts& starts, SessionStates& states, JobEnd& job_end)
      : parts_(parts), tables_(tables), starts_(starts), states_(states), job_end_(job_end) {}

  /// Claims all new declarations together, so that ranks which declare alike agree in turn. Under the session's mutex.
  void claim();
  /// This rank submits nothing more in this step: tells rank 0 for which gradients it waits, and which it does not have
  /// although others wait. Any thread.
  void end_submissions();
  /// The next step is `step`: a state was loaded. Any thread, without the session's mutex.
  void go_to(std::uint32_t step) { late_names_.go_to(step); }

  // The group's thread, without the session's mutex.
  /// All ranks have claimed these names.
  void agreed(const Agreement& agreement);
  /// Another rank waits for this name.
  void needed(const std::string& name, std::uint32_t step);

  /// Has this rank's log name the ranks that have not declared what is held. The progress thread.
  void ask_who_is_late();

  // Threads of the program.
  /// Waits until every rank has declared what this one has submitted. Timeout, after which no rank waits for that
  /// gradient; else the failure of the job.
  Status wait_for_held(Clock::time_point deadline);
  /// The same for one gradient, whose run it returns; `last`: when waiting for it ends the job.
  Result<GradientRun*> wait_for_run(Handle handle, Clock::time_point deadline, Clock::time_point last);
  /// A number that grows whenever gradients have been opened. Any thread, without the session's mutex.
  std::uint64_t count() const { return count_.load(); }

 private:
  Status open(const Agreement& agreement);
  std::vector<std::size_t> owners_of(std::span<const Declared> declared, bool in_turn);
  Status take_in(std::span<const std::size_t> ids, std::vector<std::unique_ptr<GradientRun>> runs);
  Status wait_until(const std::function<bool()>& is_open, Clock::time_point deadline) const;

  const SessionParts& parts_;
  SessionTables& tables_;
  StepStarts& starts_;
  SessionStates& states_;
  JobEnd& job_end_;
  LateNames late_names_;
  std::optional<Owners> owners_;  ///< since the first agreement; the progress thread's
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace casync::runtime
