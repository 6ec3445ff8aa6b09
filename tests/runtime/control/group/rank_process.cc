// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/control/group/rank_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/check.h"
#include "runtime/control/wire/socket.h"

extern char** environ;

namespace casync::runtime::testing {

RankProcess::RankProcess(int rank, int ranks, const std::string& directory, Seconds dead, Seconds timeout) {
  int in[2], out[2];
  CASYNC_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::array<std::string, 7> words = {RANK_PROGRAM,
                                      std::to_string(rank),
                                      std::to_string(ranks),
                                      directory,
                                      std::to_string(dead.count() / 10),
                                      std::to_string(dead.count()),
                                      std::to_string(timeout.count())};
  std::array<char*, 8> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  CASYNC_CHECK(posix_spawn(&pid_, RANK_PROGRAM, &actions, nullptr, arguments.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_ = Fd(in[1]);
  output_ = Fd(out[0]);
}

RankProcess::~RankProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void RankProcess::tell(const std::string& line) {
  const std::string bytes = line + "\n";
  CASYNC_CHECK(write(input_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
}

void RankProcess::signal(int number) const { kill(pid_, number); }

std::string RankProcess::hear(const std::string& word, Seconds within) {
  const Clock::time_point deadline = after(within);
  for (;;) {
    for (std::size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n')) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.rfind(word + " ", 0) == 0) return line.substr(word.size() + 1);
      if (line == word) return line;
    }
    pollfd entry{output_.get(), POLLIN, 0};
    if (poll(&entry, 1, poll_timeout(deadline)) <= 0) return "";
    std::array<char, 4096> bytes;
    const ssize_t got = read(output_.get(), bytes.data(), bytes.size());
    if (got <= 0) return "";
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

Failure failure_of(RankProcess& process, Seconds within) {
  const std::string line = process.hear("failed", within);
  if (line.empty()) return {};
  const std::size_t space = line.find(' ');
  return {Clock::time_point(Clock::duration(std::stoll(line.substr(0, space)))), line.substr(space + 1)};
}

std::vector<std::unique_ptr<RankProcess>> start_ranks(int ranks, const std::string& directory, Seconds dead) {
  std::vector<std::unique_ptr<RankProcess>> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    processes.push_back(std::make_unique<RankProcess>(rank, ranks, directory, dead, Seconds(30)));
  }
  for (auto& process : processes) REQUIRE(process->hear("joined", Seconds(30)) == "OK");
  return processes;
}

}  // namespace casync::runtime::testing
