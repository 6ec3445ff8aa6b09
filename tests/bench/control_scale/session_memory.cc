// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/control_scale/session_memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "runtime/session/session.h"
#include "tests/support/ranks.h"

namespace casync::runtime::bench {
namespace {

constexpr int kStep = 48;  // sizes are one, two and three times that

/// Memory of this process that has been touched.
double resident_bytes() {
  long pages = 0;
  std::ifstream file("/proc/self/statm");
  file >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// One step around the ring, so that everything that is made on first use is there.
std::string step_once(Session& session) {
  std::vector<float> values(1024, 1.0f);
  const auto id = session.declare({"gradient", DType::kFloat32, {1024}, 0});
  if (!id) return id.status().text();
  const std::vector<Submission> all = {{*id, {reinterpret_cast<std::byte*>(values.data()), values.size() * 4}}};
  if (const auto handles = session.submit(all); !handles) return handles.status().text();
  return session.step().status().is_ok() ? "" : "the step failed";
}

/// The memory of this process while sessions of so many ranks are open; below zero: they failed.
double memory_of(int ranks, const std::string& transport, const std::string& plan) {
  std::barrier<> opened(ranks), measured(ranks);
  double bytes = 0;
  const std::string complaints = test::with_sessions(
      ranks,
      [&](SessionOptions& options) {
        options.plan_file = plan;
        options.timeout_s = 120;
      },
      [&](Session& session, test::RankContext& context) {
        std::string complaint = step_once(session);
        opened.arrive_and_wait();
        if (context.rank == 0) bytes = resident_bytes();
        measured.arrive_and_wait();
        return complaint;
      },
      transport);
  if (!complaints.empty()) std::fputs(complaints.c_str(), stderr);
  return complaints.empty() ? bytes : -1;
}

/// The same in a process of its own: memory that sessions of another size have left behind would count.
Result<double> memory_apart(int ranks, const std::string& transport, const std::string& plan) {
  std::array<int, 2> report{};
  double bytes = -1;
  if (pipe(report.data()) != 0) return unavailable("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    bytes = memory_of(ranks, transport, plan);
    std::_Exit(write(report[1], &bytes, sizeof(bytes)) == sizeof(bytes) ? 0 : 1);
  }
  close(report[1]);
  const bool told = child > 0 && read(report[0], &bytes, sizeof(bytes)) == sizeof(bytes);
  close(report[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (!told || bytes < 0) return internal_error("sessions of " + std::to_string(ranks) + " ranks failed");
  return bytes;
}

}  // namespace

Result<double> bytes_per_silent_peer(const std::string& transport) {
  const test::TemporaryDirectory directory;
  const std::string plan = directory.path() + "/plan.txt";
  std::ofstream(plan) << "version: 1\ndefault { strategy: ring }\n";
  std::vector<double> sizes;
  for (int size = 1; size <= 3; ++size) {
    const auto bytes = memory_apart(size * kStep, transport, plan);
    if (!bytes) return bytes.status();
    sizes.push_back(*bytes);
  }
  return (sizes[2] - 2 * sizes[1] + sizes[0]) / (2.0 * kStep * kStep);
}

}  // namespace casync::runtime::bench
