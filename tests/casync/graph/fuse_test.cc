// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/fuse.h"

#include <catch2/catch.hpp>

using namespace casync;  // NOLINT(google-build-using-namespace)

TEST_CASE("fuse: messages join up to exactly fusion_bytes") {
  CHECK(fuses(1, 80, 20, 100));
  CHECK_FALSE(fuses(1, 80, 21, 100));
}

TEST_CASE("fuse: nothing joins a message that is larger by itself") { CHECK_FALSE(fuses(1, 1000, 0, 100)); }

TEST_CASE("fuse: 0 means never, even for empty messages") {
  CHECK_FALSE(fuses(1, 0, 0, 0));
  CHECK(fuses(1, 0, 0, 1));
}

TEST_CASE("fuse: sizes near the largest number do not wrap around") {
  CHECK_FALSE(fuses(1, 10, ~Bytes{0}, 100));
  CHECK(fuses(1, 1, ~Bytes{0} - 1, ~Bytes{0}));
}

TEST_CASE("fuse: a wire message has kMostFused messages at most") {
  CHECK(fuses(kMostFused - 1, 0, 1, 1_MiB));
  CHECK_FALSE(fuses(kMostFused, 0, 1, 1_MiB));
}
