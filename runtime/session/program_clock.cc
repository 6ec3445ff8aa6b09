// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/program_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/thread.h"

namespace casync::runtime {

/// Seconds for which the thread was ready to run and had no processor; nullopt: the kernel does not say.
std::optional<double> ProgramClock::read_delay() const {
  char text[96] = "";
  if (!delays_.open() || ::pread(delays_.get(), text, sizeof text - 1, 0) <= 0) return std::nullopt;
  unsigned long long ran_ns = 0, delayed_ns = 0;
  if (std::sscanf(text, "%llu %llu", &ran_ns, &delayed_ns) != 2) return std::nullopt;
  return 1e-9 * static_cast<double>(delayed_ns);
}

double ProgramClock::lost_s(double delayed_s, double taken_s) { return std::max(0.0, std::min(delayed_s, taken_s)); }

void ProgramClock::ask(pid_t thread) {
  if (thread != thread_) {
    delays_ = UniqueFd(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    delayed_s_.reset();
    thread_ = thread;
  }
  const std::optional<double> delayed = read_delay();
  const double taken = seconds_of_started_threads();
  if (delayed && delayed_s_) {
    const Seconds lost(lost_s(*delayed - *delayed_s_, ranks_per_processor_ * (taken - taken_s_)));
    lost_ += std::chrono::duration_cast<Clock::duration>(lost);
  }
  delayed_s_ = delayed;
  taken_s_ = taken;
}

Clock::time_point ProgramClock::now() {
  const pid_t thread = gettid();
  Clock::time_point wall = Clock::now();
  if (thread != thread_ || wall - asked_ >= kBetweenQuestions) {
    ask(thread);
    asked_ = wall = Clock::now();
  }
  return last_ = std::max(last_, wall - lost_);
}

}  // namespace casync::runtime
