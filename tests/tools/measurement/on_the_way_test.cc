// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/measurement/on_the_way.h"

#include <catch2/catch.hpp>

#include "tests/casync/simulator/scenarios.h"

namespace casync::tools {
namespace {

MessageSpan send(Rank from, Rank to, std::uint32_t partition, double begin, double end) {
  return {true, from, to, 5, 0, partition, 0, begin, end};
}
MessageSpan recv(Rank to, Rank from, std::uint32_t partition, double begin, double end) {
  return {false, to, from, 5, 0, partition, 0, begin, end};
}

}  // namespace

TEST_CASE("report: messages that are on their way at the same time count once") {
  const OnTheWayOf made = on_the_way(
      {
          send(0, 1, 0, 1, 3), recv(1, 0, 0, 2, 3.5),     //
          send(0, 2, 1, 2, 4), recv(2, 0, 1, 4, 5),       // overlaps the previous one
          send(0, 1, 2, 2.5, 2.75), recv(1, 0, 2, 3, 4),  // within it
          send(0, 1, 3, 7, 8), recv(1, 0, 3, 7.5, 8.5),   // later
          send(2, 1, 4, 8, 8.25), recv(1, 2, 4, 8, 9),    // from another rank
      },
      {});
  CHECK(made.at({0, 5}).out_s == (5 - 1) + (8.5 - 7));
  CHECK(made.at({0, 5}).in_s == 0);
  CHECK(made.at({1, 5}).out_s == 0);
  CHECK(made.at({1, 5}).in_s == (4 - 1) + (9 - 7));
  CHECK(made.at({2, 5}).in_s == 5 - 2);
  CHECK(made.at({2, 5}).out_s == 1);
  CHECK(made.size() == 3);
}

TEST_CASE("report: a message is on its way from its sender's begin until it is there, whatever both see of it") {
  const OnTheWayOf made = on_the_way({send(0, 1, 0, 1, 2), recv(1, 0, 0, 6, 6)}, {});
  CHECK(made.at({0, 5}).out_s == 5);
  CHECK(made.at({1, 5}).in_s == 5);
  // If the other end is missing or belongs to another message, a message takes as long as the one end says.
  CHECK(on_the_way({send(0, 1, 0, 1, 2)}, {}).at({0, 5}).out_s == 1);
  CHECK(on_the_way({recv(1, 0, 0, 6, 7)}, {}).at({1, 5}).in_s == 1);
  CHECK(on_the_way({send(0, 1, 1, 1, 2), recv(1, 0, 0, 6, 7)}, {}).at({1, 5}).in_s == 1);
  CHECK(on_the_way({send(0, 2, 0, 1, 2), recv(1, 0, 0, 6, 7)}, {}).at({1, 5}).in_s == 1);
  CHECK(on_the_way({}, {}).empty());
}

TEST_CASE("report: exchanges that have the same name in a step are told apart by their order") {
  const OnTheWayOf made =
      on_the_way({recv(1, 0, 0, 11, 12), send(0, 1, 0, 10, 11), recv(1, 0, 0, 2, 3), send(0, 1, 0, 1, 2)}, {});
  CHECK(made.at({1, 5}).in_s == (3 - 1) + (12 - 10));
}

TEST_CASE("report: steps are counted apart") {
  std::vector<MessageSpan> spans{send(0, 1, 0, 1, 3), send(0, 1, 0, 2, 4)};
  spans[1].step = 6;
  const OnTheWayOf made = on_the_way(spans, {});
  CHECK(made.at({0, 5}).out_s == 2);
  CHECK(made.at({0, 6}).out_s == 2);
}

TEST_CASE("report: clocks of different hosts are put so that the way there is as long as the way back") {
  // Rank 1's clock is 10 ahead. Each shortest way takes 1; another one takes 3.
  const std::vector<MessageSpan> spans{send(0, 1, 0, 0, 1),   recv(1, 0, 0, 11, 11), send(0, 1, 1, 2, 3),
                                       recv(1, 0, 1, 15, 15), send(1, 0, 2, 20, 21), recv(0, 1, 2, 11, 11)};
  const OnTheWayOf apart = on_the_way(spans, {"a", "b"});
  CHECK(apart.at({0, 5}).in_s == Approx(1));
  CHECK(apart.at({1, 5}).in_s == Approx(1 + 3));
  CHECK(apart.at({0, 5}).out_s == Approx(1 + 3));
  CHECK(apart.at({1, 5}).out_s == Approx(1));
  const OnTheWayOf together = on_the_way(spans, {"a", "a"});
  CHECK(together.at({1, 5}).in_s == 15);
}

TEST_CASE("report: a simulation has the time on the wire, and the latency") {
  Profile profile = test::ideal(1e-9);
  profile.between.latency_s = profile.inside.latency_s = 1e-6;
  // Rank 1 sends its partition to the owner, and the owner sends it back.
  const Scenario scenario = test::one_gradient(2, 1000, {{"none", {}}, {"none", {}}, StrategyKind::kPs, 1, 0}, profile);
  SimulationOptions options;
  options.spans = true;
  const OnTheWayOf made = on_the_way(test::simulated(scenario, options).spans);
  REQUIRE(made.size() == 2);
  for (const auto& [step, one] : made) {
    CHECK(one.out_s == Approx(5e-6));
    CHECK(one.in_s == Approx(5e-6));
  }
}

}  // namespace casync::tools
