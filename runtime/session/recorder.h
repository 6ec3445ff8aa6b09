// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "casync/model/gradient.h"
#include "casync/simulator/training.h"
#include "runtime/session/rank_paces.h"

namespace casync::runtime {

/// Records when a program makes its gradients and when it needs them, without the time for which it stood still: the
/// model description of this program. Moments are a ProgramClock's, so that processor time of synchronization does not
/// count as computing. A step lasts from the end of one step to the end of the next. Up to its last submission it is
/// backward pass, together with all that the program computed earlier in the step; the rest is forward pass. Only the
/// steps with the most gradients count, and of these the last ones. Calls come one at a time.
class Recorder {
 public:
  explicit Recorder(Clock::time_point now) : begun_(now) {}

  void submitted(std::size_t gradient, Clock::time_point now);
  /// The program, not a helper, takes a gradient of this step that is done.
  void needs(std::size_t gradient, Clock::time_point now);
  /// It waits for one, and goes on. Several threads may.
  void waits(std::size_t gradient, Clock::time_point now);
  /// It stands still for another reason, until it goes on.
  void stands_still(Clock::time_point now);
  void goes_on(Clock::time_point now);
  /// The program has computed all that it does in this step; the step ends.
  void computed(Clock::time_point now) { computed_ = program_seconds(now); }
  void step_ended(Clock::time_point now);

  int steps() const { return steps_; }
  /// The program's seconds in the last step, without the time it stood still; any step.
  double program_seconds_of_last_step() const { return last_; }
  /// Medians over steps. Nothing: no step has ended.
  std::optional<Training> training(std::span<const GradientSpec> gradients) const;
  /// The pace of both passes together, in the same steps. Nothing: no step has ended.
  std::optional<Pace> pace() const;

 private:
  static constexpr int kKept = 31;  ///< steps
  static constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

  /// One gradient's moments, in seconds of the program since the step began.
  struct Moments {
    double ready = kNever, need = kNever;
  };

  double program_seconds(Clock::time_point now) const;
  Moments& moments(std::size_t gradient);
  double& kept(std::size_t gradient, int which, int step);

  Clock::time_point begun_, waiting_since_;
  double waited_ = 0, computed_ = 0, last_ = 0;
  int waiting_ = 0;
  std::size_t count_ = 0;  ///< gradients submitted in this step
  std::vector<Moments> now_;

  std::size_t most_ = 0;        ///< gradients of a step that counts
  int steps_ = 0;               ///< that counted
  std::vector<double> kept_;    ///< [gradient][ready, need after the last ready][step]
  std::vector<double> passes_;  ///< [backward, forward][step]
};

}  // namespace casync::runtime
