// SPDX-License-Identifier: Apache-2.0
// One rank as a process of its own, steered by lines on standard input; what happens goes to standard output.
//   rank_program RANK RANKS DIRECTORY BEAT_S DEAD_S TIMEOUT_S
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <mutex>
#include <sstream>

#include "runtime/control/group/group.h"

using namespace casync;
using namespace casync::runtime;

namespace {

void say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

long long now_ns() { return Clock::now().time_since_epoch().count(); }

long long cpu_ns() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1000000000LL + used.tv_nsec;
}

void obey(Group& group, const std::string& line) {
  std::istringstream words(line);
  std::string verb, text;
  double number = 0;
  words >> verb;
  if (verb == "gather") {
    words >> text >> number;
    say("gathered " + group.all_gather(text, std::string(1000, 'x'), after(Seconds(number))).status().text());
  } else if (verb == "abort") {
    std::getline(words, text);
    group.abort(aborted(text.substr(1)));
  } else if (verb == "close") {
    words >> number;
    say("closed " + group.close(after(Seconds(number))).text());
  } else if (verb == "cpu") {
    say("cpu " + std::to_string(cpu_ns()));
  } else if (verb == "fork") {
    // A child that would keep every descriptor it inherited open.
    if (fork() == 0) {
      close(STDIN_FILENO);
      close(STDOUT_FILENO);
      sleep(5);
      _exit(0);
    }
    say("forked");
  }
}

}  // namespace

int main(int, char** arguments) {
  const auto store = make_file_store(arguments[3]);
  GroupOptions options;
  options.rank = std::stoi(arguments[1]);
  options.ranks = std::stoi(arguments[2]);
  options.store = store.get();
  options.interface_name = "lo";
  options.beat = Seconds(std::stod(arguments[4]));
  options.dead = Seconds(std::stod(arguments[5]));
  options.timeout = Seconds(std::stod(arguments[6]));
  auto group = Group::join(options);
  say("joined " + group.status().text());
  if (!group) return 1;
  (*group)->watch([](const Status& cause) { say("failed " + std::to_string(now_ns()) + " " + cause.text()); });
  std::string line;
  while (std::getline(std::cin, line) && line != "exit") obey(**group, line);
  return 0;
}
