// SPDX-License-Identifier: Apache-2.0
//
// Faults of the network in a message, on the loopback transport, which can make them on purpose.
#include <catch2/catch.hpp>

#include "runtime/transport/loopback/factory.h"
#include "tests/conformance/transport_probe.h"

namespace casync::test {
namespace {

using runtime::TransportOptions;
using runtime::WireFault;

// Two ranks in this thread; rank 0's first message suffers `fault`.
struct Pair {
  explicit Pair(WireFault fault) {
    for (Rank rank : {0, 1}) {
      TransportRig& rig = rigs[rank];
      rig.rank = rank;
      rig.open = [fault, rank](const TransportOptions& options) {
        return runtime::make_loopback(options, {.fault = [fault, rank](Rank, std::uint64_t number) {
                                        return rank == 0 && number == 0 ? fault : WireFault::kNone;
                                      }});
      };
      rig.all_gather = [](const std::string& address) {
        const std::string stem = address.substr(0, address.size() - 1);
        return std::vector<std::string>{stem + "0", stem + "1"};
      };
      probes[rank] = std::make_unique<TransportProbe>(rig);
    }
  }
  void move() {
    for (int i = 0; i < 20; ++i) {
      for (auto& probe : probes) probe->transport().progress();
    }
  }
  TransportRig rigs[2];
  std::unique_ptr<TransportProbe> probes[2];
};

}  // namespace

TEST_CASE("loopback: a damaged or truncated payload is DataLoss and stays inside its memory") {
  for (WireFault fault : {WireFault::kCorruptPayload, WireFault::kTruncate}) {
    Pair pair(fault);
    pair.probes[0]->send(1, 0, 5000);
    pair.move();
    auto& received = pair.probes[1]->received_[{0, 0u, 0u}];
    CHECK(received.completions == 1);
    CHECK(received.status.code() == StatusCode::kDataLoss);
    CHECK_THAT(received.status.message(), Catch::Contains("rank 0"));
    CHECK(received.guards_are_whole());
    CHECK(pair.probes[0]->all_sent());
  }
}

TEST_CASE("loopback: one bad piece makes the whole message DataLoss, reported when all pieces came") {
  Pair pair(WireFault::kCorruptPayload);
  pair.probes[0]->send(1, 0, 3_MiB + 9);
  pair.move();
  auto& received = pair.probes[1]->received_[{0, 0u, 0u}];
  CHECK(received.completions == 1);
  CHECK(received.status.code() == StatusCode::kDataLoss);
  CHECK(received.guards_are_whole());
}

TEST_CASE("loopback: a message that is lost or has a damaged header is never announced") {
  for (WireFault fault : {WireFault::kDrop, WireFault::kCorruptHeader}) {
    Pair pair(fault);
    pair.probes[0]->send(1, 0, 5000);
    pair.probes[0]->send(1, 1, 5000);
    pair.move();
    CHECK(pair.probes[1]->asked_ == 1);
    CHECK(pair.probes[1]->received_count() == 1);
    CHECK(pair.probes[1]->transport().stats().frames_dropped == (fault == WireFault::kDrop ? 0 : 1));
  }
}

TEST_CASE("loopback: a message that comes twice is asked about twice, and the client's refusal stands") {
  Pair pair(WireFault::kDuplicate);
  pair.probes[0]->send(1, 0, 5000);
  pair.move();
  CHECK(pair.probes[1]->received_count() == 1);
  REQUIRE(pair.probes[1]->failed_[0].size() == 1);
  CHECK(pair.probes[1]->failed_[0][0].text() == "DataLoss: the same message twice");
}

TEST_CASE("loopback: a peer that has left in the middle of a message fails once that is wanted, and the message ends") {
  Pair pair(WireFault::kDrop);
  TransportProbe& probe = *pair.probes[1];
  probe.answer = [](Rank, const runtime::Message&) { return runtime::Placement::later(); };
  pair.probes[0]->send(1, 0, 3_MiB);  // its first piece is lost
  pair.move();
  CHECK(probe.asked_ == 1);
  pair.probes[0]->transport().close(Clock::now());
  probe.run_for(0.01);
  CHECK(probe.failed_.empty());
  probe.answer = [&](Rank from, const runtime::Message& message) { return probe.place_in_memory(from, message); };
  probe.transport().retry_held();
  for (int i = 0; i < 20; ++i) probe.transport().progress();
  CHECK(probe.received_[{0, 0u, 0u}].completions == 1);
  CHECK(probe.received_[{0, 0u, 0u}].status.code() == StatusCode::kPeerFailure);
  CHECK(probe.failed_[0].size() == 1);
}

TEST_CASE("loopback: a rank exists once in an epoch") {
  auto first = runtime::make_loopback({.rank = 1, .ranks = 2, .epoch = 77});
  REQUIRE(first.is_ok());
  const auto second = runtime::make_loopback({.rank = 1, .ranks = 2, .epoch = 77});
  REQUIRE_FALSE(second.is_ok());
  CHECK(second.status().code() == StatusCode::kInvalidArgument);
  CHECK(runtime::make_loopback({.rank = 1, .ranks = 2, .epoch = 78}).is_ok());
}

}  // namespace casync::test
