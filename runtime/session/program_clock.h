// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace casync::runtime {

/// A clock that stands still while the program is ready to run and threads of sessions have its processor: by this
/// clock a program takes as long as it would alone. It sees only the thread that asks: a delay of other threads that
/// compute with it counts as computing. Where ranks compete for a processor, it assumes that threads of the others'
/// sessions run as long as this session's; the time of their programs counts.
///
/// It asks the kernel, at 20 us a question, once in kBetweenQuestions at most: a step has thousands of moments. Lost
/// time is seen that much later.
class ProgramClock {
 public:
  static constexpr Seconds kBetweenQuestions{50e-6};

  explicit ProgramClock(double ranks_per_processor = 1) : ranks_per_processor_(ranks_per_processor) {}

  /// Never goes back. Calls come one at a time; what passed since another thread's call is taken as it is.
  Clock::time_point now();

  /// Seconds that a thread lost to sessions' threads: it was ready but delayed for `delayed_s`, they ran `taken_s`.
  static double lost_s(double delayed_s, double taken_s);

 private:
  std::optional<double> read_delay() const;
  void ask(pid_t thread);

  const double ranks_per_processor_;
  pid_t thread_ = 0;                 ///< that called last
  UniqueFd delays_;                  ///< of that thread
  std::optional<double> delayed_s_;  ///< as the kernel told it last; nothing: of this thread it has not
  double taken_s_ = 0;
  Clock::time_point asked_{};
  Clock::duration lost_{};
  Clock::time_point last_{};  ///< that now() returned
};

}  // namespace casync::runtime
