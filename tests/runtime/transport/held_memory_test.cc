// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/held_memory.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using casync::runtime::HeldMemory;

}  // namespace

TEST_CASE("held memory: a peer is refused by its own bytes, not by those of others") {
  std::vector<std::string> refusals;
  HeldMemory memory(3, [&](Rank from, const Status& reason) {
    CHECK(from == 1);
    CHECK(reason.code() == StatusCode::kDataLoss);
    refusals.push_back(reason.message());
  });
  memory.keep(1, 512_MiB);
  memory.keep(2, 512_MiB);
  CHECK(memory.held_bytes() == 1024_MiB);
  CHECK(refusals.empty());
  memory.keep(1, 1_MiB);
  CHECK(refusals == std::vector<std::string>{"rank 1 has sent 513 MiB that nobody here waits for"});
}

TEST_CASE("held memory: bytes that are released count no more") {
  int refusals = 0;
  HeldMemory memory(2, [&](Rank, const Status&) { ++refusals; });
  for (int i = 0; i < 100; ++i) {
    memory.keep(1, 400_MiB);
    memory.release(1, 400_MiB);
  }
  CHECK(refusals == 0);
  CHECK(memory.held_bytes() == 0);
}

}  // namespace casync::test
