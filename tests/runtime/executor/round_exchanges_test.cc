// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_exchanges.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// The exchanges of the rank that sends contributions to rank 0 and gets results.
struct ExchangeSide {
  ExchangeSide() {
    payloads.place({0x10000, payloads.bytes()});
    exchanges.take_in(rank.bucket, rank.runs, payloads);
  }
  test::RoundsRank rank{1, 2, {"int8", "none"}};
  RoundPayloads payloads{rank.runs, all_reduced_of(rank.bucket)};
  RoundExchanges exchanges;
};

}  // namespace

TEST_CASE("round exchanges: a round's messages are the payloads' memory, contributions first and then results") {
  ExchangeSide side;
  test::HeldRounds& transport = side.rank.transport;
  REQUIRE(side.exchanges.exchange(0, transport).is_ok());
  REQUIRE(transport.sends.size() == 2);
  CHECK(transport.recvs.empty());
  CHECK(transport.sends[0].peer == 0);
  for (std::uint32_t g = 0; g < 2; ++g) {
    const auto sent =
        std::get<Send>(side.rank.runs[g]->graph.tasks()[TaskGraph::index(side.rank.bucket.rounds[0].sends[g].task)]);
    CHECK(transport.sends[g].memory.address() == side.payloads.message(g, sent.from).address());
    CHECK(transport.sends[g].memory.size() == side.payloads.message(g, sent.from).size());
  }
  REQUIRE(side.exchanges.exchange(1, transport).is_ok());
  CHECK(transport.sends.empty());
  REQUIRE(transport.recvs.size() == 2);
  CHECK(transport.recvs[1].memory.size() == 100 * sizeof(float));
}

TEST_CASE("round exchanges: messages and bytes of all steps are counted") {
  ExchangeSide side;
  for (int step = 0; step < 3; ++step) {
    for (const std::uint32_t round : {0u, 1u}) REQUIRE(side.exchanges.exchange(round, side.rank.transport).is_ok());
  }
  const RoundExchanges::Traffic& traffic = side.exchanges.traffic();
  const Bytes bytes = 100 * sizeof(float) + side.rank.runs[0]->buffers.bound_of(BufferId{0});
  CHECK(traffic.messages_sent == 6);
  CHECK(traffic.messages_received == 6);
  CHECK(traffic.bytes_sent == 3 * bytes);
  CHECK(traffic.bytes_received == 3 * bytes);
}

TEST_CASE("round exchanges: the transport's refusal is the round's") {
  ExchangeSide side;
  side.rank.transport.answer = peer_failure("rank 0 is gone");
  CHECK(side.exchanges.exchange(0, side.rank.transport).text() == "PeerFailure: rank 0 is gone");
}
