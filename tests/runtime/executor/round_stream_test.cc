// SPDX-License-Identifier: Apache-2.0
//
// The stream of rounds, its bell, and its end.
#include "runtime/executor/round_stream.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/one_rank.h"
#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr Seconds kShort{0.02}, kLong{60};

struct Open {
  explicit Open(std::uint64_t epoch) : ranks(test::make_ranks(1, epoch)) {
    REQUIRE(stream.open([this](Stream&) -> Result<std::unique_ptr<RoundTransport>> {
      auto made = std::make_unique<test::HeldRounds>();
      held = made.get();
      return std::unique_ptr<RoundTransport>(std::move(made));
    }));
  }

  std::vector<std::unique_ptr<test::OneRank>> ranks;
  RoundStream stream{*ranks[0]->device, *ranks[0]->transport};
  test::HeldRounds* held = nullptr;
};

}  // namespace

TEST_CASE("round stream: a failure to open says why, and the transport gets the stream") {
  const auto ranks = test::make_ranks(1, 915);
  RoundStream stream(*ranks[0]->device, *ranks[0]->transport);
  Stream* given = nullptr;
  const auto refuse = [&](Stream& on) -> Result<std::unique_ptr<RoundTransport>> {
    given = &on;
    return unavailable("no library");
  };
  CHECK(stream.open(refuse).text() == "Unavailable: no library");
  CHECK(given != nullptr);
}

TEST_CASE("round stream: the bell wakes the progress thread once the work ahead of it is over, until the end") {
  Open it(916);
  REQUIRE(it.stream.ring());
  const Clock::time_point begun = Clock::now();
  it.ranks[0]->transport->wait(after(kLong));
  CHECK(Clock::now() - begun < kLong / 2);
  it.stream.close(after(kLong));
  CHECK(it.held->is_closed);
  CHECK_FALSE(it.held->is_aborted);
  REQUIRE(it.stream.ring());
  const Clock::time_point silent = Clock::now();
  it.ranks[0]->transport->wait(after(kShort));
  CHECK(Clock::now() - silent >= kShort);
}

TEST_CASE("round stream: after a failure it aborts the transport, whose memory it keeps where that does not end") {
  Open ends(917);
  CHECK(ends.stream.come_to_rest(after(kLong)));
  CHECK(ends.held->is_aborted);
  Open stuck(918);
  stuck.held->ends_by_abort = false;
  CHECK_FALSE(stuck.stream.come_to_rest(after(kShort)));
  CHECK(stuck.held->is_aborted);  // it is still there
}
