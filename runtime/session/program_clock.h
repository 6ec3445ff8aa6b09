// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "base/clock.h"

namespace casync::runtime {

/// A clock that stands still while the program could run and does not, because this session's threads have its
/// processor: what a program takes by it is what it would take alone. It sees only the thread that asks; where several
/// compute together and one of the others is held up, that counts as theirs.
class ProgramClock {
 public:
  /// Never goes back. Calls come one at a time; what passed since another thread's call is taken as it is.
  Clock::time_point now();

  /// Seconds that a thread lost to the session's threads: it was ready but delayed for `delayed_s`, they ran `taken_s`.
  static double lost_s(double delayed_s, double taken_s);

 private:
  pid_t thread_ = 0;  ///< that called last
  double delayed_s_ = 0, taken_s_ = 0;
  Clock::duration lost_{};
};

}  // namespace casync::runtime
