// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/status.h"
#include "casync/model/gradient.h"
#include "runtime/session/prediction_watch.h"
#include "runtime/session/ready_events.h"
#include "runtime/session/run_record.h"
#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_tables.h"

namespace casync::runtime {

/// The record of a session on rank 0, and the comparison of its steps with the plan's prediction. Other ranks record
/// their pace alone. With groups the session around it keeps the record, and knows their members. Under the session's
/// mutex, but for write().
class SessionRecord {
 public:
  /// Borrows both.
  SessionRecord(const SessionParts& parts, const SessionTables& tables) : parts_(parts), tables_(tables) {}

  /// Begins, once the ranks have met. Logs a warning if the plan has a mode in which no model can be recorded.
  void open();

  // As RunRecord's.
  Status declare(const GradientSpec& gradient) { return run_ ? run_->declared(gradient) : Status::ok(); }
  void needs(std::size_t gradient) {
    if (run_) run_->needs(gradient);
  }
  bool waits(std::size_t gradient) { return run_ && run_->waits(gradient); }
  void goes_on() {
    if (run_) run_->goes_on();
  }
  void computed() {
    if (run_) run_->computed();
  }

  /// Gradients by their numbers. On the host it samples them, ahead of any reduction.
  void submitted(std::span<const Submission> submissions);
  /// Begins to copy samples of gradients that `ready` is noted of. They are ready once that is over, too, because a
  /// reduction writes the memory. Unavailable: as DeviceSampler.
  Status sample_on_device(std::span<const Submission> submissions, ReadyEvents& ready);
  /// The step under way has ended.
  void step_ended(Clock::time_point now);

  /// Tells parts.paces this rank's pace, ahead of its goodbye.
  void tell_pace() const;
  /// Writes what there is. Once nothing of the session is under way, and the ranks have said goodbye.
  void write() {
    if (run_) run_->write(parts_.paces->others());
  }
  /// Leaves what a device may still do to the device.
  void leave_to_threads() { static_cast<void>(run_.release()); }

 private:
  bool records() const { return !parts_.options.record_directory.empty() && parts_.plan.groups.empty(); }
  void watch(double step_s);

  const SessionParts& parts_;
  const SessionTables& tables_;
  std::unique_ptr<RunRecord> run_;        ///< null: nobody uses one
  std::optional<PredictionWatch> watch_;  ///< while it needs steps
};

}  // namespace casync::runtime
