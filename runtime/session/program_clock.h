// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace casync::runtime {

/// A clock that stands still while the program could run and does not, because threads of sessions have its processor:
/// what a program takes by it is what it would take alone. It sees only the thread that asks; where several compute
/// together and one of the others is held up, that counts as theirs. Where ranks compete for a processor, their
/// sessions' threads are taken to run as long as this session's; the time that their programs take counts.
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
