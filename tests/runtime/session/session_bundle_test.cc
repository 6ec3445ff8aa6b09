// SPDX-License-Identifier: Apache-2.0
//
// Small gradients that travel as one: the bytes are those of each alone, whatever a rank submits together.
#include <catch2/catch.hpp>
#include <string>

#include "tests/runtime/session/bundle_cases.h"
#include "tests/runtime/session/lacks_ucx.h"

using namespace casync;                 // NOLINT(google-build-using-namespace)
using namespace casync::test::bundles;  // NOLINT(google-build-using-namespace)

TEST_CASE("session bundles: the same bytes as each gradient alone, in a tenth of the tasks") {
  for (const char* codec : {"none", "int8", "onebit", "topk", "terngrad", "dgc"}) {
    INFO(codec);
    Outcome alone, together;
    REQUIRE(train(codec, 0, false, "loopback", alone) == "");
    REQUIRE(train(codec, 64_KiB, false, "loopback", together) == "");
    for (int rank = 0; rank < kRanks; ++rank) {
      CHECK(alike(alone.values[0], together.values[static_cast<std::size_t>(rank)]));
    }
    CHECK(10 * together.tasks <= alone.tasks);
  }
}

TEST_CASE("session bundles: a rank that submits one by one, or waits in between, meets those that bundle") {
  for (const char* transport : {"loopback", "ucx:tcp"}) {
    for (const char* codec : {"none", "int8", "onebit"}) {
      INFO(codec << " over " << transport);
      Outcome alone, mixed;
      REQUIRE(train(codec, 0, false, "loopback", alone) == "");
      const std::string complaints = train(codec, 64_KiB, true, transport, mixed);
      if (test::lacks_ucx(complaints)) continue;
      REQUIRE(complaints == "");
      for (int rank = 0; rank < kRanks; ++rank) {
        CHECK(alike(alone.values[0], mixed.values[static_cast<std::size_t>(rank)]));
      }
    }
  }
}

// The owner's code of an uncompressed result is not its gradient's memory, which the codec's result is about to change.
TEST_CASE("session bundles: a codec whose result is one of all codes, with an uncompressed second hop") {
  for (const Bytes fusion_bytes : {Bytes{0}, 64_KiB}) {
    INFO(fusion_bytes);
    Outcome made;
    REQUIRE(train("subsampling", fusion_bytes, false, "loopback", made, false, "second_hop { name: \"none\" }") == "");
    for (std::size_t rank = 1; rank < kRanks; ++rank) CHECK(alike(made.values[0], made.values[rank]));
  }
}

// With two dedicated servers of three ranks, each owns some gradients and is a mere receiver of the others.
TEST_CASE("session bundles: dedicated servers, too, give the same bytes, whatever a rank submits together") {
  for (const char* servers : {"servers: 1 dedicated: true", "servers: 2 dedicated: true"}) {
    for (const char* codec : {"none", "int8", "dgc"}) {
      INFO(codec << ", " << servers);
      Outcome alone, together, mixed;
      REQUIRE(train(codec, 0, false, "loopback", alone, false, servers) == "");
      REQUIRE(train(codec, 64_KiB, false, "loopback", together, false, servers) == "");
      REQUIRE(train(codec, 64_KiB, true, "loopback", mixed, false, servers) == "");
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        CHECK(alike(alone.values[0], together.values[rank]));
        CHECK(alike(alone.values[0], mixed.values[rank]));
      }
      CHECK(10 * together.tasks <= alone.tasks);
    }
  }
}

TEST_CASE("session bundles: a gradient that is not finite says so for itself alone") {
  for (const bool mixed : {false, true}) {
    Outcome alone, together;
    REQUIRE(train("onebit", 0, false, "loopback", alone, true) == "");
    REQUIRE(train("onebit", 64_KiB, mixed, "loopback", together, true) == "");
    CHECK(alone.first_non_finite == "g17");
    CHECK(together.first_non_finite == "g17");
    for (int rank = 0; rank < kRanks; ++rank) {
      CHECK(alike(alone.values[0], together.values[static_cast<std::size_t>(rank)]));
    }
  }
}
