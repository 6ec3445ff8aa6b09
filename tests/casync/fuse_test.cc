// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/fuse.h"

#include <catch2/catch.hpp>
#include <vector>

namespace casync::test {
namespace {

std::size_t fused(const std::vector<Bytes>& ready, Bytes fusion_bytes) { return fused_count(ready, fusion_bytes); }

}  // namespace

TEST_CASE("fuse: nothing leaves when nothing is ready") { CHECK(fused({}, 100) == 0); }

TEST_CASE("fuse: the first message leaves however large") { CHECK(fused({1000, 1}, 100) == 1); }

TEST_CASE("fuse: messages join up to exactly fusion_bytes") {
  CHECK(fused({50, 30, 20}, 100) == 3);
  CHECK(fused({50, 30, 21}, 100) == 2);
}

TEST_CASE("fuse: a message that does not fit is not overtaken by one that would") {
  CHECK(fused({50, 60, 10}, 100) == 1);
}

TEST_CASE("fuse: 0 means never, even for empty messages") {
  CHECK(fused({0, 0}, 0) == 1);
  CHECK(fused({0, 0}, 1) == 2);
}

TEST_CASE("fuse: sizes near the largest number do not wrap around") {
  CHECK(fused({10, ~Bytes{0}}, 100) == 1);
  CHECK(fused({1, ~Bytes{0} - 1}, ~Bytes{0}) == 2);
}

}  // namespace casync::test
