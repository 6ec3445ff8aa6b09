// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/device/device.h"
#include "runtime/session/current_step.h"
#include "runtime/session/declarations.h"
#include "runtime/session/gradient_table.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The last submission of each gradient, by GradientId. Under the session's mutex.
class Submissions {
 public:
  /// Borrows all of these.
  Submissions(const CurrentStep& step, const GradientTable& gradients, const Device& device)
      : step_(step), gradients_(gradients), device_(device) {}

  /// A gradient gets the next number.
  void add(const GradientSpec& gradient);

  /// Checks submissions that come together. InvalidArgument: as Session::submit.
  Status check(std::span<const Submission> submissions);
  /// InvalidArgument: the step has submissions ahead of a consensus.
  Status check_none() const;
  /// InvalidArgument: messages match by order, and this step's have no place for a gradient that is left out.
  Status check_all() const;

  /// The gradient is submitted in the step under way.
  void note(std::size_t gradient, Clock::time_point now) {
    submitted_[gradient] = {step_.number() + 1, calls_, now, {}};
  }
  bool in_step(std::size_t gradient) const { return submitted_[gradient].steps == step_.number() + 1; }
  /// Returns true if it was submitted in `step` or later.
  bool reached(std::size_t gradient, std::uint32_t step) const { return submitted_[gradient].steps > step; }
  Clock::time_point since(std::size_t gradient) const { return submitted_[gradient].since; }
  /// Notes a wait for its submission of `step`. Returns the time of the first one; `now` if a later submission has
  /// followed.
  Clock::time_point waited_since(std::size_t gradient, std::uint32_t step, Clock::time_point now);
  /// Forgets all: a state was loaded.
  void forget();

 private:
  struct Submitted {
    std::uint32_t steps = 0;         ///< 1 + its step; 0: none
    std::uint64_t call = 0;          ///< the check() that named it last, valid or not
    Clock::time_point since;         ///< when
    Clock::time_point waited_since;  ///< the first wait for it; the clock's zero: there was none
  };

  Status check(const Submission& one) const;

  const CurrentStep& step_;
  const GradientTable& gradients_;
  const Device& device_;
  std::vector<Submitted> submitted_;
  std::vector<MemoryShape> memory_of_;
  std::uint64_t calls_ = 0;
};

}  // namespace casync::runtime
