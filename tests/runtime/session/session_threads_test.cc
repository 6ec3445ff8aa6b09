// SPDX-License-Identifier: Apache-2.0
//
// The threads of a session, as the kernel shows them.
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

/// Name -> blocked signals of each thread of this process.
std::map<std::string, std::uint64_t> blocked_signals() {
  std::map<std::string, std::uint64_t> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "status");
    std::string name, word, value;
    while (file >> word >> value) {
      if (word == "Name:") name = value;
      if (word == "SigBlk:") all[name] = std::stoull(value, nullptr, 16);
      file.ignore(1000, '\n');
    }
  }
  return all;
}

}  // namespace

TEST_CASE("session threads: signals are the program's, not theirs") {
  setenv("CASYNC_THREADS", "2", 1);
  const std::string complaints = with_sessions(1, codec("int8"), [](Session&, RankContext&) -> std::string {
    const std::map<std::string, std::uint64_t> all = blocked_signals();
    for (const char* name : {"casync-progress", "casync-1", "casync-2", "casync-group"}) {
      const auto found = all.find(name);
      if (found == all.end()) return std::string("no thread ") + name;
      for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGPROF}) {
        const bool blocked = (found->second >> (signal - 1) & 1) != 0;
        if (!blocked) return std::string(name) + " takes signal " + std::to_string(signal);
      }
    }
    return "";
  });
  unsetenv("CASYNC_THREADS");
  CHECK(complaints == "");
}

TEST_CASE("session threads: none runs after close(), also when the job has failed") {
  // One that runs on while the program exits meets libraries that have been taken down.
  const bool fails = GENERATE(false, true);
  CAPTURE(fails);
  const std::string complaints = with_sessions(1, codec("int8"), [&](Session& session, RankContext&) -> std::string {
    if (fails) session.abort("enough");
    static_cast<void>(session.close());
    for (const auto& [name, blocked] : blocked_signals()) {
      if (name.starts_with("casync-")) return "there is still " + name;
    }
    return "";
  });
  CHECK(complaints == "");
}

TEST_CASE("session threads: a job of one machine stays off its network, whatever the launcher said") {
  std::string seen[2];
  const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
    context.options.open_transport = [&](const TransportOptions& options) {
      seen[context.rank] = options.interface_name;
      return make_loopback(options);
    };
    return Session::open(context.options).status().text();
  });
  CHECK(complaints == "rank 0: OK\nrank 1: OK\n");
  CHECK(seen[0] == "lo");
  CHECK(seen[1] == "lo");
}
