// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/transport.h"

namespace casync::test {

template <std::size_t Ranks>
using Transports = std::array<std::unique_ptr<runtime::Transport>, Ranks>;

/// The transports of a job's ranks, connected over this machine's loopback interface. `options`: of each, but for its
/// rank, their number and the interface.
template <std::size_t Ranks, class Client>
Transports<Ranks> connected(const std::string& name, runtime::TransportOptions options,
                            std::array<Client, Ranks>& clients) {
  Transports<Ranks> transports;
  std::vector<std::string> addresses;
  options.ranks = static_cast<int>(Ranks);
  options.interface_name = "lo";
  for (auto& transport : transports) {
    options.rank = static_cast<Rank>(addresses.size());
    auto opened = runtime::make_transport(name, options);
    REQUIRE(opened.status().text() == "OK");
    transport = std::move(*opened);
    addresses.push_back(transport->address());
  }
  for (std::size_t i = 0; i < Ranks; ++i) REQUIRE(transports[i]->connect(addresses, clients[i]).text() == "OK");
  return transports;
}

/// Lets all transports progress until `done` returns true. Returns false if it has not after 20 s.
template <std::size_t Ranks, class Done>
bool progress_until(Transports<Ranks>& transports, Done done) {
  const Clock::time_point deadline = after(Seconds(20));
  while (!done()) {
    if (Clock::now() >= deadline) return false;
    for (auto& transport : transports) transport->progress();
  }
  return true;
}

}  // namespace casync::test
