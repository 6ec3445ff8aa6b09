// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_payloads.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::uint64_t kAddress = 0x10000;

}  // namespace

TEST_CASE("round payloads: each has aligned memory of its own, and a gradient that is all-reduced has none") {
  const test::RoundsRank rank(0, 2, {"int8", "", "none"});
  RoundPayloads payloads(rank.runs, all_reduced_of(rank.bucket));
  payloads.place({kAddress, payloads.bytes()});
  std::uint64_t free_from = kAddress;
  for (const std::uint32_t g : {0u, 2u}) {
    REQUIRE_FALSE(rank.runs[g]->graph.buffers().empty());
    for (std::uint32_t b = 0; b < rank.runs[g]->graph.buffers().size(); ++b) {
      const DeviceView one = payloads.payload(g, BufferId{b});
      CHECK(one.address() >= free_from);
      CHECK(one.address() % 256 == 0);
      CHECK(one.size() == rank.runs[g]->buffers.bound_of(BufferId{b}) + (g == 2 ? kDevicePayloadHead : 0));
      free_from = one.address() + one.size();
    }
  }
  CHECK(free_from <= kAddress + payloads.bytes());
  CHECK(RoundPayloads(rank.runs, {true, true, true}).bytes() == 0);
}

TEST_CASE("round payloads: an identity's travels without its head, and is raw elements to a sum") {
  const test::RoundsRank rank(0, 2, {"int8", "none"});
  RoundPayloads payloads(rank.runs, all_reduced_of(rank.bucket));
  payloads.place({kAddress, payloads.bytes()});
  const BufferId first{0};
  const DeviceView code = payloads.payload(0, first), elements = payloads.payload(1, first);
  CHECK(payloads.message(0, first).address() == code.address());
  CHECK(payloads.message(0, first).size() == code.size());
  CHECK(payloads.term(0, first).payload.address() == code.address());
  CHECK(payloads.term(0, first).raw.is_null());
  CHECK(payloads.message(1, first).address() == elements.address() + kDevicePayloadHead);
  CHECK(payloads.message(1, first).size() == 100 * sizeof(float));
  CHECK(payloads.term(1, first).payload.is_null());
  CHECK(payloads.term(1, first).raw.address() == elements.address() + kDevicePayloadHead);
}

TEST_CASE("round payloads: until they have places, sizes are known, and no address is null") {
  const test::RoundsRank rank(0, 2, {"int8", "none"});
  const RoundPayloads payloads(rank.runs, all_reduced_of(rank.bucket));
  CHECK_FALSE(payloads.payload(0, BufferId{0}).is_null());
  CHECK(payloads.message(1, BufferId{0}).size() == 100 * sizeof(float));
  CHECK_FALSE(payloads.term(1, BufferId{0}).raw.is_null());
}
