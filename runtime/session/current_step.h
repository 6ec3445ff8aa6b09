// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "casync/model/plan.h"

namespace casync::runtime {

/// The step under way: its number, the values that ranks exchange in it, and its moments. Under the session's mutex.
class CurrentStep {
 public:
  /// Borrows `mode`, the plan's.
  explicit CurrentStep(const SyncMode& mode) : mode_(mode) {}

  std::uint32_t number() const { return number_; }
  Exchanged exchanged() const { return consensus_ ? Exchanged::kParameters : exchanged_in(mode_, number_); }
  /// The same for the program, which knows it then.
  Exchanged ask() const;
  /// InvalidArgument: nothing may be submitted in this step, or only by a program that has asked.
  Status check_exchange() const;

  /// The step averages parameters over all ranks.
  void begin_consensus() { consensus_ = asked_ = true; }
  bool is_consensus() const { return consensus_; }

  void submitted(Clock::time_point now);
  bool has_submissions() const { return first_submitted_ != Clock::time_point{}; }
  Clock::time_point first_submitted() const { return first_submitted_; }
  Clock::time_point last_submitted() const { return last_submitted_; }
  Clock::time_point begun() const { return begun_; }
  /// Returns true if all ranks begin the next step together: nothing was submitted since that was so.
  bool is_together() const { return together_; }

  /// The next step begins.
  void end(Clock::time_point now);
  /// All ranks go on with `step`, which has no submissions: a state was loaded.
  void go_to(std::uint32_t step);

 private:
  const SyncMode& mode_;
  std::uint32_t number_ = 0;
  bool together_ = true;
  bool consensus_ = false;
  mutable bool asked_ = false;  ///< the program knows which values the step exchanges
  Clock::time_point begun_ = Clock::now();
  Clock::time_point first_submitted_, last_submitted_;  ///< the clock's zero: nothing was
};

}  // namespace casync::runtime
