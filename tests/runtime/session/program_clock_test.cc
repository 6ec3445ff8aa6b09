// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/program_clock.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <thread>

#include "base/thread.h"

namespace casync::runtime {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void compute_for(double seconds) {
  for (const double until = processor_seconds() + seconds; processor_seconds() < until;) {
  }
}

/// Keeps this thread, and those it starts, on the processor it is on.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OnOneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

double seconds(Clock::duration duration) { return Seconds(duration).count(); }

/// Calls of read() so far; -1: the kernel does not say.
long reads_of_this_thread() {
  std::ifstream file("/proc/thread-self/io");
  for (std::string name; file >> name;) {
    long value = -1;
    file >> value;
    if (name == "syscr:") return value;
  }
  return -1;
}

}  // namespace

TEST_CASE("program clock: lost time is no more than the delay, and no more than this session's threads took") {
  CHECK(ProgramClock::lost_s(0.3, 0.2) == 0.2);
  CHECK(ProgramClock::lost_s(0.1, 0.2) == 0.1);
  CHECK(ProgramClock::lost_s(0, 1) == 0);
  CHECK(ProgramClock::lost_s(-1e-9, 1) == 0);
}

TEST_CASE("program clock: it stands still while a thread of ours has the program's processor") {
  const OnOneProcessor one;
  ProgramClock clock;
  std::atomic<bool> stop{false};
  const Clock::time_point begin = clock.now(), wall_begin = Clock::now();
  const double taken_begin = seconds_of_started_threads();
  Result<std::thread> thread = start_thread("casync-test", [&] {
    while (!stop) {
    }
  });
  REQUIRE(thread.status().text() == "OK");
  compute_for(0.1);  // while another thread wants as much
  const Clock::time_point end = clock.now(), wall_end = Clock::now();
  const double taken = seconds_of_started_threads() - taken_begin;
  stop = true;
  thread->join();
  const double program = seconds(end - begin), wall = seconds(wall_end - wall_begin);
  CAPTURE(program, wall, taken);
  CHECK(program >= 0.1 * (1 - 1e-6));    // all that it computed
  CHECK(wall - program >= 0.8 * taken);  // without what the other had; others on the machine count as they do
  CHECK(wall - program <= taken + 1e-3);
}

TEST_CASE("program clock: of two ranks on a processor each session's threads are taken to run as long") {
  const OnOneProcessor one;
  ProgramClock clock(2);
  std::atomic<bool> stop{false};
  const Clock::time_point begin = clock.now(), wall_begin = Clock::now();
  const double taken_begin = seconds_of_started_threads();
  const auto runs = [&] {
    while (!stop) {
    }
  };
  Result<std::thread> ours = start_thread("casync-test", runs);
  REQUIRE(ours.status().text() == "OK");
  std::thread others(runs);  // stands for a thread of the other rank's session
  compute_for(0.1);
  const Clock::time_point end = clock.now(), wall_end = Clock::now();
  const double taken = seconds_of_started_threads() - taken_begin;
  stop = true;
  ours->join();
  others.join();
  const double program = seconds(end - begin), wall = seconds(wall_end - wall_begin);
  CAPTURE(program, wall, taken);
  CHECK(program >= 0.1 * (1 - 1e-6));
  CHECK(wall - program >= 0.8 * 2 * taken);  // the third of the processor that each of both had
  CHECK(wall - program <= 2 * taken + 1e-3);
}

TEST_CASE("program clock: sleeping, and waiting for processors that others have, takes time") {
  ProgramClock clock;
  const Clock::time_point first = Clock::now(), begin = clock.now(), wall_begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  compute_for(0.01);
  const Clock::time_point wall_end = Clock::now(), end = clock.now(), last = Clock::now();
  const double program = seconds(end - begin);
  CHECK(program >= seconds(wall_end - wall_begin) - 2e-3);
  CHECK(program <= seconds(last - first) + 2e-3);
}

TEST_CASE("program clock: it goes on when another thread asks, and never back") {
  ProgramClock clock;
  Clock::time_point last = clock.now();
  for (int i = 0; i < 20; ++i) {
    Clock::time_point here;
    if (i % 2 == 0) {
      std::thread([&] { here = clock.now(); }).join();
    } else {
      here = clock.now();
    }
    CHECK(here >= last);
    last = here;
  }
}

TEST_CASE("program clock: it asks the kernel for few of the moments of a step") {
  ProgramClock clock;
  clock.now();
  const Clock::time_point wall_begin = Clock::now();
  const long before = reads_of_this_thread();
  if (before < 0) {
    WARN("[SKIP] this kernel does not count a thread's reads");
    return;
  }
  Clock::time_point last{};
  for (int i = 0; i < 20000; ++i) last = std::max(last, clock.now());
  const auto reads = static_cast<double>(reads_of_this_thread() - before);
  CHECK(reads <= (Clock::now() - wall_begin) / ProgramClock::kBetweenQuestions + 4);
  CHECK(last > wall_begin - std::chrono::seconds(1));
}

}  // namespace casync::runtime
