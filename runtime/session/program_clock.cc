// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/program_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "base/thread.h"
#include "base/unique_fd.h"

namespace casync::runtime {
namespace {

/// Seconds for which this thread was ready to run and had no processor; nullopt: the kernel does not say.
std::optional<double> delayed_s() {
  const UniqueFd file(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  char text[96] = "";
  if (file.get() < 0 || ::read(file.get(), text, sizeof text - 1) <= 0) return std::nullopt;
  unsigned long long ran_ns = 0, delayed_ns = 0;
  if (std::sscanf(text, "%llu %llu", &ran_ns, &delayed_ns) != 2) return std::nullopt;
  return 1e-9 * static_cast<double>(delayed_ns);
}

}  // namespace

double ProgramClock::lost_s(double delayed_s, double taken_s) { return std::max(0.0, std::min(delayed_s, taken_s)); }

Clock::time_point ProgramClock::now() {
  const std::optional<double> delayed = delayed_s();
  const double taken = seconds_of_started_threads();
  const Clock::time_point wall = Clock::now();
  const pid_t thread = gettid();
  if (delayed && thread == thread_) {
    const Seconds lost(lost_s(*delayed - delayed_s_, taken - taken_s_));
    lost_ += std::chrono::duration_cast<Clock::duration>(lost);
  }
  thread_ = delayed ? thread : 0;
  delayed_s_ = delayed.value_or(0);
  taken_s_ = taken;
  return wall - lost_;
}

}  // namespace casync::runtime
