// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/unmet_processes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

namespace casync::runtime {
namespace {

constexpr std::chrono::milliseconds kMs{1};

/// A process that sleeps until it is killed. A child that nobody has waited for is a zombie.
struct Sleeper {
  const pid_t pid = fork();
  Sleeper() {
    if (pid != 0) return;
    for (;;) pause();
  }
  ~Sleeper() { end(); }
  void kill_it() const {
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  }
  void end() const {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
};

}  // namespace

TEST_CASE("unmet processes: one has ended if it is a zombie or gone, and not while it runs or stands still") {
  const Sleeper sleeper;
  CHECK_FALSE(has_ended(getpid()));
  CHECK_FALSE(has_ended(sleeper.pid));
  kill(sleeper.pid, SIGSTOP);
  CHECK_FALSE(has_ended(sleeper.pid));
  sleeper.kill_it();
  CHECK(has_ended(sleeper.pid));
  sleeper.end();
  CHECK(has_ended(sleeper.pid));
}

TEST_CASE("unmet processes: after a pause in which one has ended UCX rests for a while, once") {
  const Sleeper one, other;
  UnmetProcesses unmet;
  unmet.add(1, one.pid);
  unmet.add(2, other.pid);
  Clock::time_point now = Clock::now();
  CHECK_FALSE(unmet.must_rest(now));
  one.kill_it();
  CHECK_FALSE(unmet.must_rest(now));  // no pause: not asked
  now += 2 * kMs;
  CHECK(unmet.must_rest(now));
  CHECK(unmet.resting());
  CHECK(unmet.must_rest(now + 499 * kMs));
  now += 500 * kMs;
  CHECK_FALSE(unmet.must_rest(now));
  CHECK_FALSE(unmet.resting());
  CHECK_FALSE(unmet.must_rest(now + 100 * kMs));
  CHECK_FALSE(unmet.empty());
  unmet.meet(2);
  CHECK(unmet.empty());
}

TEST_CASE("unmet processes: a transport that closes does not begin to work again, unless all leave in order") {
  for (const bool rests_already : {true, false}) {
    const Sleeper sleeper;
    UnmetProcesses unmet;
    unmet.add(1, sleeper.pid);
    sleeper.kill_it();
    Clock::time_point now = Clock::now();
    if (rests_already) CHECK(unmet.must_rest(now));
    unmet.begin_last_rest(now);
    CHECK(unmet.must_rest(now));
    CHECK(unmet.must_rest(now + 1900 * kMs));
    unmet.forget_all();
    CHECK_FALSE(unmet.must_rest(now + 1900 * kMs));
    CHECK_FALSE(unmet.resting());
  }
}

TEST_CASE("unmet processes: one that has been met may end") {
  const Sleeper sleeper;
  UnmetProcesses unmet;
  unmet.add(1, sleeper.pid);
  unmet.meet(1);
  sleeper.kill_it();
  CHECK_FALSE(unmet.must_rest(Clock::now()));
}

}  // namespace casync::runtime
