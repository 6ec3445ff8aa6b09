// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <time.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>

namespace casync {
namespace {

/// Computes until this thread has had `seconds` of a processor.
void compute_for(double seconds) {
  timespec now{};
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) < seconds);
}

}  // namespace

TEST_CASE("thread: processor time of started threads is counted while they run, and stays counted") {
  const double before = seconds_of_started_threads();
  std::atomic<bool> computed{false}, go_on{false};
  Result<std::thread> thread = start_thread("casync-test", [&] {
    compute_for(0.02);
    computed = true;
    computed.notify_one();
    go_on.wait(false);
  });
  REQUIRE(thread.status().text() == "OK");
  computed.wait(false);
  CHECK(seconds_of_started_threads() - before >= 0.02);
  const ThreadClock clock(*thread);
  const double own = seconds_of_this_thread();
  compute_for(own + 0.03);
  CHECK(seconds_of_this_thread() - own >= 0.03);
  CHECK(clock.seconds() >= 0.02);
  CHECK(clock.seconds() < 0.03);  // it waits
  go_on = true;
  go_on.notify_one();
  thread->join();
  // It has ended; the kernel may need a moment after join() to let go of it.
  for (int i = 0; i < 5000 && clock.seconds() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(clock.seconds() == 0);
  const double after = seconds_of_started_threads();
  CHECK(after - before >= 0.02);
  compute_for(seconds_of_this_thread() + 0.03);  // this thread is not one of ours
  CHECK(seconds_of_started_threads() == after);
}

}  // namespace casync
