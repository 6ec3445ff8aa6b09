// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/link_credit.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

MessageKey message(std::uint32_t partition) { return {7, 1, partition, 0}; }

/// Ranks 0 and 1 on one node, 2 and 3 on another.
LinkCredit of_rank_0(Bytes credit) { return LinkCredit(credit, Topology{4, {0, 0, 1, 1}}, 0); }

}  // namespace

TEST_CASE("link credit: a port takes messages until they have the credit's bytes together, or one that is larger") {
  LinkCredit credit = of_rank_0(100);
  const std::size_t far = credit.port_of(2);
  CHECK(credit.admits(far, 1000));
  credit.handed_over(2, message(0), 60);
  CHECK(credit.admits(far, 40));
  CHECK(!credit.admits(far, 41));
  credit.handed_over(3, message(0), 40);  // the same port
  CHECK(!credit.admits(far, 1));
  CHECK(credit.admits(far, 0));
  credit.arrived(2, message(0));
  CHECK(credit.admits(far, 60));
  CHECK(!credit.admits(far, 61));
  credit.arrived(3, message(0));
  CHECK(credit.idle());
  CHECK(credit.admits(far, 1000));
}

TEST_CASE("link credit: the node of this rank has a port of its own") {
  LinkCredit credit = of_rank_0(100);
  CHECK(credit.port_of(1) != credit.port_of(2));
  CHECK(credit.port_of(2) == credit.port_of(3));
  credit.handed_over(1, message(0), 100);
  CHECK(!credit.admits(credit.port_of(1), 1));
  CHECK(credit.admits(credit.port_of(2), 1));
  CHECK(!credit.idle());
}

TEST_CASE("link credit: the word of no message under way gives nothing back") {
  LinkCredit credit = of_rank_0(100);
  credit.handed_over(2, message(0), 100);
  credit.arrived(3, message(0));
  credit.arrived(2, message(1));
  CHECK(!credit.admits(credit.port_of(2), 1));
  credit.arrived(2, message(0));
  credit.arrived(2, message(0));
  CHECK(credit.admits(credit.port_of(2), 1000));
}

TEST_CASE("link credit: each message gets one word, when it arrives or first waits for its place") {
  LinkCredit credit = of_rank_0(100);
  credit.put_off(2, message(0));
  credit.put_off(2, message(0));  // asked again
  credit.put_off(3, message(0));
  REQUIRE(credit.words().size() == 2);
  CHECK(credit.words()[0].to == 2);
  CHECK(credit.words()[1].to == 3);
  CHECK(credit.words()[0].message == message(0));
  credit.words().clear();
  credit.received(2, message(0));
  CHECK(credit.words().empty());
  credit.received(2, message(1));
  CHECK(credit.words().size() == 1);
  credit.words().clear();
  credit.put_off(2, message(0));  // another one of the same name
  CHECK(credit.words().size() == 1);
}
