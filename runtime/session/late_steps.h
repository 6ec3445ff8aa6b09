// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/session/session.h"

namespace casync::runtime {

/// The steps of a session whose results come late: the program ends one after the other, a thread begins to reduce them
/// and has reduced them. The result of a step that is reduced waits for the step that gets it. Under the session's
/// lock, which the caller notifies of a change.
class LateSteps {
 public:
  /// `staleness`: at least 1, the steps that a result comes late.
  explicit LateSteps(std::uint32_t staleness) : staleness_(staleness), results_(staleness) {}

  /// The program's step under way: so many have ended.
  std::uint32_t number() const { return number_; }
  /// The number of steps whose reductions have begun.
  std::uint32_t begun() const { return begun_; }
  /// The number of steps that are reduced and committed.
  std::uint32_t reduced() const { return reduced_; }
  bool has_reduced(std::uint32_t steps) const { return steps <= reduced_; }
  bool are_all_begun() const { return begun_ == number_; }
  bool are_all_reduced() const { return reduced_ == number_; }
  /// Returns true if the program would not be too many steps ahead.
  bool may_end() const { return reduced_ + staleness_ > number_; }

  /// The program ends its step, as it may. Returns its result.
  StepResult end();
  /// The reductions of the next step have begun.
  void begin() { ++begun_; }
  /// The next step is reduced.
  void reduce(StepResult result);

  /// The step under way gets a gradient's result of `step`. A gradient that was left out meanwhile gets an older one
  /// than the others: the step under way is then not finite if that step was not.
  void gets(std::uint32_t step, const std::string& gradient);
  /// It gets a loaded result that is not finite.
  void note_not_finite(const std::string& gradient);
  /// Goes on with `step`: a state was loaded.
  void go_to(std::uint32_t step);

 private:
  const std::uint32_t staleness_;
  std::vector<StepResult> results_;     ///< of the step that is reduced, or that gets it: modulo their number
  std::set<std::uint32_t> not_finite_;  ///< reduced steps
  StepResult noted_;                    ///< what note_not_finite() has noted of the step under way
  std::uint32_t number_ = 0;
  std::uint32_t begun_ = 0;
  std::uint32_t reduced_ = 0;
};

}  // namespace casync::runtime
