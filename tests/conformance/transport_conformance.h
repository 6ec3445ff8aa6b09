// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/transport/transport.h"

namespace casync::test {

using OpenTransport =
    std::function<Result<std::unique_ptr<runtime::Transport>>(const runtime::TransportOptions& options)>;

/// A rank's place in a scenario, its means, and the failures that it finds.
struct TransportRig {
  Rank rank = 0;
  int ranks = 2;
  OpenTransport open;
  /// A barrier that carries text; "" from ranks that have ended.
  std::function<std::vector<std::string>(const std::string&)> all_gather;
  bool own_process = false;           ///< else a thread among the others
  std::vector<std::string> failures;  ///< claims that did not hold

  void expect(bool holds, const std::string& claim) {
    if (!holds) failures.push_back("rank " + std::to_string(rank) + ": " + claim);
  }
};

/// One question that every transport answers. All ranks run it at once.
struct TransportScenario {
  const char* claim;
  int ranks;
  void (*run)(TransportRig& rig);
  bool needs_network = false;  ///< about processes or ports: not for transports inside one process
  Rank killed = -1;            ///< this rank ends by SIGKILL
};

std::span<const TransportScenario> transport_scenarios();
/// Its parts, by subject.
std::span<const TransportScenario> delivery_scenarios();
std::span<const TransportScenario> failure_scenarios();
std::span<const TransportScenario> waiting_scenarios();

/// Runs every scenario with a thread for each rank, as sections of the Catch test that calls it.
void check_transport_in_threads(const OpenTransport& open);

/// Runs every scenario with a process for each rank. The program needs a hidden test "[.rank]" that calls
/// run_scenario_in_this_process(); `transport` is for make_transport.
void check_transport_in_processes(const std::string& transport);
/// Runs the scenario and transport that the environment names, in a rank's process. Returns the failures.
std::vector<std::string> run_scenario_in_this_process();

}  // namespace casync::test
