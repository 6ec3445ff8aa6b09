// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/gone_ranks.h"

#include <catch2/catch.hpp>

#include "tests/runtime/session/first_gone.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("gone ranks: the first to go explains the others") {
  GoneRanks gone;
  CHECK(test::first_gone(gone) == "OK");
  CHECK(gone.note_broken(2, peer_failure("rank 2 died")));
  CHECK(gone.note_broken(1, data_loss("rank 1 lies")));
  CHECK(gone.note_left(3, peer_failure("rank 3 left"), false));
  CHECK(test::first_gone(gone) == "PeerFailure: rank 2 died");
}

TEST_CASE("gone ranks: the connections of a rank that said goodbye may end, and what it sent must still be right") {
  GoneRanks gone;
  CHECK(gone.note_left(1, peer_failure("rank 1 left"), false));
  CHECK_FALSE(gone.note_broken(1, peer_failure("rank 1 broke")));
  CHECK_FALSE(gone.note_left(1, peer_failure("rank 1 left again"), false));
  CHECK(gone.note_broken(1, data_loss("rank 1 lies")));
  CHECK(test::first_gone(gone) == "PeerFailure: rank 1 left");
}

TEST_CASE("gone ranks: a rank that left steps ahead is not gone for this one yet") {
  GoneRanks gone;
  CHECK(gone.note_left(1, peer_failure("rank 1 left"), true));
  CHECK(test::first_gone(gone) == "OK");
  CHECK_FALSE(gone.note_broken(1, peer_failure("rank 1 broke")));
  CHECK(test::first_gone(gone) == "OK");
}

TEST_CASE("gone ranks: a rank that has closed needs nothing of the others") {
  GoneRanks gone;
  CHECK_FALSE(gone.closed());
  gone.close();
  CHECK(gone.closed());
  CHECK_FALSE(gone.note_broken(1, data_loss("rank 1 lies")));
  CHECK_FALSE(gone.note_left(2, peer_failure("rank 2 left"), false));
  CHECK_FALSE(gone.note_left(3, peer_failure("rank 3 left"), true));
  CHECK(test::first_gone(gone) == "OK");
}
