// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "runtime/control/deadline.h"
#include "runtime/session/device_sampler.h"
#include "runtime/session/gradient_sampler.h"
#include "runtime/session/prediction_watch.h"
#include "runtime/session/ready_events.h"
#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_tables.h"
#include "runtime/session/step_moments.h"

namespace casync::runtime {

/// The record of a session on rank 0: when gradients are ready and needed, samples of them, and the comparison of its
/// steps with the plan's prediction. With groups the session around it keeps the record, and knows their members. Other
/// ranks record nothing. Under the session's mutex, but for write().
class SessionRecord {
 public:
  /// Borrows both. Logs a warning if the plan has a mode in which no model can be recorded.
  SessionRecord(const SessionParts& parts, const SessionTables& tables);

  /// A gradient gets the next number. Unavailable: as DeviceSampler.
  Status declare(const GradientSpec& gradient);
  /// Gradients by their numbers. On the host it samples them, before anything has been reduced.
  void submitted(std::span<const Submission> submissions);
  /// Begins to copy samples of gradients that `ready` is noted of. They are ready once that is over, too, because a
  /// reduction writes the memory. Unavailable: as DeviceSampler.
  Status sample_on_device(std::span<const Submission> submissions, ReadyEvents& ready);
  void needs(std::size_t gradient);
  /// The program waits for one until goes_on(). Returns false if nobody needs to know when it goes on.
  bool waits(std::size_t gradient);
  void goes_on();
  void computed();
  /// The step under way has ended.
  void step_ended(Clock::time_point now);

  /// Writes what there is. Once nothing of the session is under way.
  void write();
  /// Leaves what a device may still do to the device.
  void leave_to_threads();

 private:
  bool records() const;
  bool samples() const;
  void watch(double step_s);

  const SessionParts& parts_;
  const SessionTables& tables_;
  std::optional<PredictionWatch> watch_;  ///< while it needs steps
  std::unique_ptr<StepMoments> moments_;  ///< while somebody uses them
  std::optional<GradientSampler> sampler_;
  std::unique_ptr<DeviceSampler> device_sampler_;  ///< of sampler_, on a device
};

}  // namespace casync::runtime
