// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process_group.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace casync::test {
namespace {

constexpr const char* kRank = "CASYNC_TEST_RANK";
constexpr const char* kRanks = "CASYNC_TEST_RANKS";
constexpr const char* kSocket = "CASYNC_TEST_SOCKET";
constexpr std::size_t kMaxPacket = 1 << 20;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (more.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

}  // namespace

ProcessGroup::ProcessGroup(int ranks, std::vector<std::string> arguments,
                           std::map<std::string, std::string> environment)
    : processes_(static_cast<std::size_t>(ranks)) {
  environment[kRanks] = std::to_string(ranks);
  arguments.insert(arguments.begin(), "/proc/self/exe");
  for (Rank rank = 0; rank < ranks; ++rank) start(rank, arguments, environment);
}

void ProcessGroup::start(Rank rank, const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& environment) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  int sockets[2], pipes[2];
  CASYNC_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
  CASYNC_CHECK(pipe2(pipes, O_CLOEXEC) == 0);
  std::map<std::string, std::string> own = environment;
  own[kRank] = std::to_string(rank);
  own[kSocket] = std::to_string(sockets[1]);
  std::vector<std::string> argument_texts = arguments;
  std::vector<std::string> environment_texts = environment_with(own);
  const std::vector<char*> argv = pointers(argument_texts);
  const std::vector<char*> envp = pointers(environment_texts);

  process.pid = fork();
  CASYNC_CHECK(process.pid >= 0);
  if (process.pid == 0) {
    dup2(pipes[1], 1);
    dup2(pipes[1], 2);
    fcntl(sockets[1], F_SETFD, 0);
    execve("/proc/self/exe", argv.data(), envp.data());
    _exit(127);
  }
  close(sockets[1]);
  close(pipes[1]);
  process.socket = sockets[0];
  process.output = pipes[0];
}

ProcessGroup::~ProcessGroup() {
  for (Process& process : processes_) {
    if (!process.ended) {
      kill(process.pid, SIGKILL);
      waitpid(process.pid, nullptr, 0);
    }
    close(process.socket);
    close(process.output);
  }
}

std::vector<EndedProcess> ProcessGroup::wait(Seconds limit) {
  const auto deadline = after(limit);
  const auto all_ended = [&] {
    return std::all_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.ended; });
  };
  bool over = false;
  while (!all_ended()) {
    poll_once();
    reap();
    answer_when_complete();
    if (over || Clock::now() < deadline) continue;
    over = true;
    for (Process& process : processes_) {
      if (process.ended) continue;
      process.result.killed_at_limit = true;
      kill(process.pid, SIGKILL);
    }
  }
  std::vector<EndedProcess> results;
  for (Process& process : processes_) {
    read_output(process);
    results.push_back(process.result);
  }
  return results;
}

void ProcessGroup::poll_once() {
  std::vector<pollfd> fds;
  for (const Process& process : processes_) {
    if (process.ended) continue;
    fds.push_back({process.output, POLLIN, 0});
    if (!process.has_blob) fds.push_back({process.socket, POLLIN, 0});
  }
  poll(fds.data(), fds.size(), 20);
  for (Process& process : processes_) {
    if (process.ended) continue;
    read_output(process);
    read_blob(process);
  }
}

void ProcessGroup::read_output(Process& process) {
  fcntl(process.output, F_SETFL, O_NONBLOCK);
  char buffer[4096];
  for (ssize_t got = 0; (got = read(process.output, buffer, sizeof buffer)) > 0;) {
    process.result.output.append(buffer, static_cast<std::size_t>(got));
  }
}

void ProcessGroup::read_blob(Process& process) {
  if (process.has_blob) return;
  std::string packet(kMaxPacket, '\0');
  const ssize_t got = recv(process.socket, packet.data(), packet.size(), MSG_DONTWAIT);
  if (got <= 0) return;
  packet.resize(static_cast<std::size_t>(got));
  process.blob = packet.substr(1);  // the first byte makes empty blobs packets, too
  process.has_blob = true;
}

void ProcessGroup::reap() {
  for (Process& process : processes_) {
    int status = 0;
    if (process.ended || waitpid(process.pid, &status, WNOHANG) != process.pid) continue;
    process.ended = true;
    if (WIFEXITED(status)) process.result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) process.result.signal = WTERMSIG(status);
  }
}

void ProcessGroup::answer_when_complete() {
  bool anybody = false;
  for (const Process& process : processes_) {
    if (!process.ended && !process.has_blob) return;
    anybody = anybody || process.has_blob;
  }
  if (!anybody) return;
  std::string all;
  for (const Process& process : processes_) {
    const auto length = static_cast<std::uint32_t>(process.has_blob ? process.blob.size() : 0);
    all.append(reinterpret_cast<const char*>(&length), sizeof length);
    if (process.has_blob) all += process.blob;
  }
  for (Process& process : processes_) {
    if (process.has_blob && !process.ended) send(process.socket, all.data(), all.size(), MSG_NOSIGNAL);
    process.has_blob = false;
  }
}

bool RankProcess::is_one() { return std::getenv(kRank) != nullptr; }

RankProcess::RankProcess()
    : rank_(std::atoi(std::getenv(kRank))),
      ranks_(std::atoi(std::getenv(kRanks))),
      socket_(std::atoi(std::getenv(kSocket))) {}

std::vector<std::string> RankProcess::all_gather(const std::string& blob) {
  const std::string packet = "b" + blob;
  CASYNC_CHECK(send(socket_, packet.data(), packet.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(packet.size()));
  std::string all(kMaxPacket, '\0');
  const ssize_t got = recv(socket_, all.data(), all.size(), 0);
  CASYNC_CHECK(got > 0);
  std::vector<std::string> blobs;
  for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
    std::uint32_t length = 0;
    std::memcpy(&length, all.data() + at, sizeof length);
    blobs.push_back(all.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return blobs;
}

}  // namespace casync::test
