// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/link_coordinator.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

using Grants = std::vector<LinkCoordinator::Grant>;
constexpr Clock::time_point kStart{};

Grants grants(LinkCoordinator& coordinator, Clock::time_point now) {
  Grants found;
  coordinator.grant(now, found);
  return found;
}

}  // namespace

TEST_CASE("link coordinator: the second of two senders to one rank waits for the first") {
  LinkCoordinator coordinator(3);
  coordinator.want(1, 0, 1_MiB, kStart);
  coordinator.want(2, 0, 1_MiB, kStart);
  CHECK(grants(coordinator, kStart) == Grants{{1, 0}});
  CHECK(grants(coordinator, kStart).empty());
  coordinator.done(1, 0);
  CHECK(grants(coordinator, kStart) == Grants{{2, 0}});
}

TEST_CASE("link coordinator: links that have no rank in common are granted at once") {
  LinkCoordinator coordinator(4);
  coordinator.want(0, 1, 1_MiB, kStart);
  coordinator.want(2, 1, 1_MiB, kStart);
  coordinator.want(2, 3, 1_MiB, kStart);
  coordinator.want(1, 0, 1_MiB, kStart);  // a rank may send and receive
  CHECK(grants(coordinator, kStart) == Grants{{0, 1}, {2, 3}, {1, 0}});
}

TEST_CASE("link coordinator: a small bulk waits a little for more") {
  LinkCoordinator coordinator(2);
  CHECK(coordinator.next_due() == Clock::time_point::max());
  coordinator.want(0, 1, 100, kStart);
  CHECK(grants(coordinator, kStart).empty());
  CHECK(coordinator.next_due() == kStart + LinkCoordinator::kPatience);
  CHECK(grants(coordinator, coordinator.next_due()) == Grants{{0, 1}});
}

TEST_CASE("link coordinator: at no time two to or from one rank, and everybody gets a turn") {
  constexpr int kRanks = 8;
  LinkCoordinator coordinator(kRanks);
  std::mt19937 random(7);
  Grants open;
  int wanted = 0, granted = 0;
  for (int i = 0; i < 5000; ++i) {
    const Clock::time_point now = kStart + std::chrono::microseconds(10 * i);
    const auto from = static_cast<Rank>(random() % kRanks), to = static_cast<Rank>(random() % kRanks);
    if (from != to && i < 4000) {
      coordinator.want(from, to, 1 + random() % 200'000, now);
      ++wanted;
    }
    for (const LinkCoordinator::Grant& grant : grants(coordinator, now)) {
      open.push_back(grant);
      ++granted;
    }
    std::set<Rank> senders, receivers;
    for (const LinkCoordinator::Grant& grant : open) {
      CHECK(senders.insert(grant.from).second);
      CHECK(receivers.insert(grant.to).second);
    }
    for (int k = 0; k < 4 && !open.empty(); ++k) {
      const auto at = static_cast<std::ptrdiff_t>(random() % open.size());
      coordinator.done(open[static_cast<std::size_t>(at)].from, open[static_cast<std::size_t>(at)].to);
      open.erase(open.begin() + at);
    }
  }
  CHECK(granted == wanted);
}
