// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <time.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace casync {
namespace {

double seconds_on(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;  // in a forked child: a thread that it does not have
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Never destroyed: threads may outlive statics.
struct Started {
  std::mutex mutex;
  std::vector<clockid_t> clocks;  ///< of those that run
  double of_ended_s = 0;
};

Started& started() {
  static Started& all = *new Started;
  return all;
}

}  // namespace

StartedThread::StartedThread() {
  clockid_t own = CLOCK_THREAD_CPUTIME_ID;
  pthread_getcpuclockid(pthread_self(), &own);
  clock_ = own;
  Started& all = started();
  const std::lock_guard lock(all.mutex);
  all.clocks.push_back(own);
}

StartedThread::~StartedThread() {
  Started& all = started();
  const std::lock_guard lock(all.mutex);
  all.clocks.erase(std::find(all.clocks.begin(), all.clocks.end(), clock_));
  all.of_ended_s += seconds_on(clock_);
}

double seconds_of_this_thread() { return seconds_on(CLOCK_THREAD_CPUTIME_ID); }

ThreadClock::ThreadClock(std::thread& thread) : clock_(-1) { pthread_getcpuclockid(thread.native_handle(), &clock_); }

double ThreadClock::seconds() const { return seconds_on(clock_); }

double seconds_of_started_threads() {
  Started& all = started();
  const std::lock_guard lock(all.mutex);
  double seconds = all.of_ended_s;
  for (const clockid_t clock : all.clocks) seconds += seconds_on(clock);
  return seconds;
}

}  // namespace casync
