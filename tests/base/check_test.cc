// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <string>

#include "base/status.h"

namespace casync {
namespace {

struct Death {
  int signal = 0;     // 0: it lived
  std::string words;  // its output on stderr
};

// Runs `body` in a child process: what is tested ends the process.
template <class Body>
Death run_in_child(Body body) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Catch's handler would report this as a failed test
    dup2(pipe_ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(pipe_ends[1]);
  Death death;
  std::array<char, 256> buffer{};
  for (ssize_t n = 0; (n = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;) {
    death.words.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) death.signal = WTERMSIG(status);
  return death;
}

TEST_CASE("check: a condition that holds does nothing") {
  int evaluated = 0;
  CASYNC_CHECK(++evaluated == 1);
  CHECK(evaluated == 1);
}

TEST_CASE("check: a broken invariant ends the process and prints what and where") {
  const Death death = run_in_child([] { CASYNC_CHECK(1 + 1 == 3); });
  CHECK(death.signal == SIGABRT);
  CHECK(death.words.find("1 + 1 == 3") != std::string::npos);
  CHECK(death.words.find("check_test.cc:") != std::string::npos);
}

TEST_CASE("check: a Result made from an OK status is our own fault") {
  const Death death = run_in_child([] { Result<int> nothing{Status::ok()}; });
  CHECK(death.signal == SIGABRT);
}

}  // namespace
}  // namespace casync
