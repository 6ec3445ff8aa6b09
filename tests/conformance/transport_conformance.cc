// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/transport_conformance.h"

#include <signal.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/process_group.h"

namespace casync::test {
namespace {

constexpr const char* kScenario = "CASYNC_TEST_SCENARIO";
constexpr const char* kTransport = "CASYNC_TEST_TRANSPORT";
constexpr Seconds kLimit{60};  // limit of one scenario; each takes about a second

// all_gather among threads.
class Meeting {
 public:
  explicit Meeting(int ranks) : blobs_(static_cast<std::size_t>(ranks)), left_(ranks), ranks_(ranks) {}

  std::vector<std::string> meet(Rank rank, const std::string& blob) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    blobs_[static_cast<std::size_t>(rank)] = blob;
    if (--left_ == 0) {
      result_ = blobs_;
      left_ = ranks_;
      ++round_;
      all_came_.notify_all();
    }
    all_came_.wait(lock, [&] { return round_ != round; });
    return result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_came_;
  std::vector<std::string> blobs_, result_;
  int left_;
  int ranks_;
  std::uint64_t round_ = 0;
};

std::vector<std::string> run_in_threads(const TransportScenario& scenario, const OpenTransport& open) {
  Meeting meeting(scenario.ranks);
  std::vector<TransportRig> rigs(static_cast<std::size_t>(scenario.ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < scenario.ranks; ++rank) {
    TransportRig& rig = rigs[static_cast<std::size_t>(rank)];
    rig.rank = rank;
    rig.ranks = scenario.ranks;
    rig.open = open;
    rig.all_gather = [&meeting, rank](const std::string& blob) { return meeting.meet(rank, blob); };
    threads.emplace_back([&scenario, &rig] { scenario.run(rig); });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> failures;
  for (const TransportRig& rig : rigs) failures.insert(failures.end(), rig.failures.begin(), rig.failures.end());
  return failures;
}

}  // namespace

std::span<const TransportScenario> transport_scenarios() {
  static const std::vector<TransportScenario> all = [] {
    std::vector<TransportScenario> scenarios;
    for (auto part : {delivery_scenarios(), failure_scenarios(), waiting_scenarios()}) {
      scenarios.insert(scenarios.end(), part.begin(), part.end());
    }
    return scenarios;
  }();
  return all;
}

void check_transport_in_threads(const OpenTransport& open) {
  for (const TransportScenario& scenario : transport_scenarios()) {
    if (scenario.needs_network) continue;
    DYNAMIC_SECTION(scenario.claim) {
      const std::vector<std::string> failures = run_in_threads(scenario, open);
      CHECK(failures == std::vector<std::string>{});
    }
  }
}

void check_transport_in_processes(const std::string& transport) {
  int number = 0;
  for (const TransportScenario& scenario : transport_scenarios()) {
    const std::string chosen = std::to_string(number++);
    DYNAMIC_SECTION(scenario.claim) {
      ProcessGroup group(scenario.ranks, {"[.rank]"}, {{kScenario, chosen}, {kTransport, transport}});
      const std::vector<EndedProcess> ended = group.wait(kLimit);
      for (std::size_t rank = 0; rank < ended.size(); ++rank) {
        INFO("rank " << rank << (ended[rank].killed_at_limit ? " did not end" : "") << ", signal " << ended[rank].signal
                     << ", said: " << ended[rank].output);
        if (static_cast<Rank>(rank) == scenario.killed) {
          CHECK(ended[rank].signal == SIGKILL);
        } else {
          CHECK(ended[rank].exit_code == 0);
        }
      }
    }
  }
}

std::vector<std::string> run_scenario_in_this_process() {
  if (!RankProcess::is_one()) return {"this test is one rank of a group: run the others, they start it"};
  RankProcess process;
  const std::string transport = std::getenv(kTransport);
  TransportRig rig;
  rig.rank = process.rank();
  rig.ranks = process.ranks();
  rig.own_process = true;
  rig.open = [transport](const runtime::TransportOptions& options) {
    return runtime::make_transport(transport, options);
  };
  rig.all_gather = [&process](const std::string& blob) { return process.all_gather(blob); };
  transport_scenarios()[static_cast<std::size_t>(std::atoi(std::getenv(kScenario)))].run(rig);
  return rig.failures;
}

}  // namespace casync::test
