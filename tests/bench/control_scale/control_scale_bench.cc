// SPDX-License-Identifier: Apache-2.0
//
// The control plane of many ranks: rank 0 in this process, each of the others a thread of a second one.
//
//   control_scale_bench [RANKS [RANKS_PER_NODE [GRADIENTS]]]    1024, 8 and 400 unless said otherwise
//   control_scale_bench memory [TRANSPORT]                      what a silent peer costs a session; ucx:tcp
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/bench/control_scale/data_peers.h"
#include "tests/bench/control_scale/job.h"
#include "tests/bench/control_scale/others.h"
#include "tests/bench/control_scale/process_figures.h"
#include "tests/bench/control_scale/session_memory.h"
#include "tests/support/temporary_directory.h"

using namespace casync;                  // NOLINT(google-build-using-namespace)
using namespace casync::runtime;         // NOLINT(google-build-using-namespace)
using namespace casync::runtime::bench;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kDescriptorsOfRank = 8;  // both ends of a connection, a door, two processes, three events
constexpr Seconds kSettle{2}, kIdle{10};

/// Rank 0 sees this of the job.
struct Seen {
  int descriptors_before = 0, descriptors = 0, peak = 0;
  Bytes bytes = 0;
  double idle_share = 0, leaving_s = 0;
  Moments moments;
};

Status run_rank_0(const Job& job, Seen& seen) {
  seen.descriptors_before = open_descriptors();
  DescriptorPeak peak;
  Clock::time_point idle_end;
  const Status status = run_rank(job, 0, seen.moments, [&](Group& group) {
    seen.peak = peak.end() - seen.descriptors_before;
    seen.bytes = group.control_bytes();
    seen.descriptors = open_descriptors() - seen.descriptors_before;
    std::this_thread::sleep_for(kSettle);
    const double before = cpu_seconds();
    std::this_thread::sleep_for(kIdle);
    seen.idle_share = (cpu_seconds() - before) / kIdle.count();
    idle_end = Clock::now();
  });
  seen.leaving_s = Seconds(Clock::now() - idle_end).count();
  return status;
}

double seconds(Clock::time_point from, Clock::time_point to) { return Seconds(to - from).count(); }

void print(const Job& job, const Seen& seen, const Others& others, Clock::time_point start, int data_peers) {
  std::printf("# %d ranks, %d on a node, %d gradients with a plan's entry each\n", job.ranks, job.per_node,
              job.gradients);
  std::printf("all have joined after                     %8.2f s\n",
              seconds(start, std::max(others.joined, seen.moments.joined)));
  std::printf("all agree, from the first question on     %8.2f s\n",
              seconds(std::min(others.asked, seen.moments.asked), std::max(others.agreed, seen.moments.agreed)));
  std::printf("bytes through rank 0, joining included    %8.1f MB\n", 1e-6 * static_cast<double>(seen.bytes));
  std::printf("descriptors of rank 0, control plane      %8d    while ranks join: %d at most\n", seen.descriptors,
              seen.peak);
  std::printf("  and its peers in the data plane         %8d\n", data_peers);
  std::printf("rank 0's processor time, idle             %8.2f %% of a core over %.0f s\n", 100 * seen.idle_share,
              kIdle.count());
  std::printf("all have left after                       %8.2f s\n", seen.leaving_s);
}

/// Raises the limit of descriptors as far as it goes: so many ranks find room in one process.
int ranks_with_room() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20)) / kDescriptorsOfRank;
}

std::string measure_job(Job job) {
  const test::TemporaryDirectory directory;
  job.directory = directory.path();
  const auto peers = data_peers(job);
  if (!peers) return peers.status().text();
  std::array<int, 2> report{};
  if (pipe(report.data()) != 0) return "no pipe";
  const Clock::time_point start = Clock::now();
  const pid_t child = fork();
  if (child < 0) return "no second process";
  if (child == 0) {
    const Others others = run_others(job);
    std::_Exit(write(report[1], &others, sizeof(others)) == sizeof(others) ? 0 : 1);
  }
  close(report[1]);
  Seen seen;
  const Status status = run_rank_0(job, seen);
  Others others;
  const bool told = read(report[0], &others, sizeof(others)) == sizeof(others);
  close(report[0]);
  waitpid(child, nullptr, 0);
  if (!status) return "rank 0: " + status.text();
  if (!told) return "the second process ended early";
  if (others.failures > 0) return std::to_string(others.failures) + " ranks failed: " + others.failure.data();
  print(job, seen, others, start, *peers);
  return "";
}

std::string measure_memory(const std::string& transport) {
  const auto bytes = bytes_per_silent_peer(transport);
  if (!bytes) return bytes.status().text();
  std::printf("memory of a rank per peer that it does not talk to, %s: %.0f bytes\n", transport.c_str(), *bytes);
  return "";
}

std::string run(int argc, char** argv) {
  const auto argument = [&](int i, const char* otherwise) { return std::string(argc > i ? argv[i] : otherwise); };
  const int room = ranks_with_room();
  if (argument(1, "") == "memory") return measure_memory(argument(2, "ucx:tcp"));
  Job job;
  job.ranks = std::max(1, std::atoi(argument(1, "1024").c_str()));
  job.per_node = std::max(1, std::atoi(argument(2, "8").c_str()));
  job.gradients = std::max(1, std::atoi(argument(3, "400").c_str()));
  if (job.ranks > room) {
    std::printf("%d ranks need %d descriptors, and the hard limit leaves room for %d ranks: measured with these\n",
                job.ranks, job.ranks * kDescriptorsOfRank, room);
    job.ranks = room;
  }
  return measure_job(job);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string failure = run(argc, argv);
  if (!failure.empty()) std::fprintf(stderr, "control_scale_bench: %s\n", failure.c_str());
  return failure.empty() ? 0 : 1;
}
