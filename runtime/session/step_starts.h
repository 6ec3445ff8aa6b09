// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "runtime/session/ready_events.h"
#include "runtime/session/session.h"
#include "runtime/session/session_parts.h"
#include "runtime/session/session_tables.h"

namespace casync::runtime {

/// Begins what is submitted: at once, or if some rank has not declared a gradient yet, when its run is there. Under the
/// session's mutex.
class StepStarts {
 public:
  /// A submission whose gradient has no run yet.
  struct Held {
    std::size_t gradient = 0;
    std::uint32_t step = 0;
    Submission submission;
  };

  /// Borrows all of these. The parts are connected by the first call.
  StepStarts(const SessionParts& parts, SessionTables& tables, const ReadyEvents& ready)
      : parts_(parts), tables_(tables), ready_(ready) {}

  /// Begins these, which are checked, and fills `handles`.
  void start(std::span<const Submission> submissions, std::span<Handle> handles, Clock::time_point now);
  /// Begins those held whose gradients have their runs.
  void start_held();
  std::span<const Held> held() const { return held_; }
  /// Makes room for one submission of all gradients, so that a steady step never allocates.
  void reserve() { starts_.reserve(tables_.gradients.size()); }

 private:
  GradientRun* gossip_of(const GradientRun& run) const;
  GradientStart start_of(GradientRun* run, std::uint32_t step, const Submission& one) const;

  const SessionParts& parts_;
  SessionTables& tables_;
  const ReadyEvents& ready_;
  std::vector<Held> held_;
  std::vector<GradientStart> starts_;  ///< of one start(); keeps its memory
};

}  // namespace casync::runtime
