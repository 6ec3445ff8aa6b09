// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_heads.h"

#include <array>
#include <catch2/catch.hpp>

#include "compll/codec/payload.h"
#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// The heads of one rank's gradients, on a device that is the host.
struct HeadsSide {
  HeadsSide(Rank self, const std::vector<std::string>& codecs) : rank(self, 2, codecs) {
    memory.resize(heads.bytes());
    pinned.resize(heads.bytes());
    heads.place(DeviceView::of(memory.data(), memory.size()), {pinned.data(), pinned.size()});
    REQUIRE(heads.clear(*rank.stream).is_ok());
  }
  /// A head is written into a slot.
  static void say(DeviceView slot, bool finite) { compll::write_header({}, finite, host_view(slot).data); }

  test::RoundsRank rank;
  RoundHeads heads{rank.runs, all_reduced_of(rank.bucket)};
  std::vector<std::byte> memory, pinned;
};

constexpr Buffer kContribution{{0, 100}, Hop::kFirst, 0}, kResult{{0, 100}, Hop::kSecond, 0};

}  // namespace

TEST_CASE("round heads: once ranks have agreed, all know of each gradient if some rank's payload is not finite") {
  HeadsSide one(0, {"int8", "int8", "powersgd"}), other(1, {"int8", "int8", "powersgd"});
  HeadsSide::say(other.heads.of_payload(0, kContribution), true);
  HeadsSide::say(one.heads.of_payload(0, kResult), true);
  HeadsSide::say(other.heads.of_payload(1, kContribution), false);
  HeadsSide::say(one.heads.of_payload(1, kResult), true);
  for (HeadsSide* side : {&one, &other}) {
    HeadsSide::say(side->heads.of_sum(2, 0), true);
    HeadsSide::say(side->heads.of_sum(2, 1), side == &one);
    REQUIRE(side->heads.agree(side->rank.transport).is_ok());
    CHECK(side->rank.transport.how == Reduction::kMostOfBytes);
  }
  test::join(one.rank.transport, other.rank.transport);
  for (HeadsSide* side : {&one, &other}) {
    REQUIRE(side->heads.download(*side->rank.stream).is_ok());
    CHECK(side->heads.say_finite(0));
    CHECK_FALSE(side->heads.say_finite(1));
    CHECK_FALSE(side->heads.say_finite(2));
    // Another step says nothing of this one.
    REQUIRE(side->heads.clear(*side->rank.stream).is_ok());
    REQUIRE(side->heads.download(*side->rank.stream).is_ok());
    CHECK(side->heads.say_finite(1));
  }
}

TEST_CASE("round heads: once ranks have agreed, all know of each gradient if some rank's result is not finite") {
  HeadsSide one(0, {"int8", "int8", "powersgd"}), other(1, {"int8", "int8", "powersgd"});
  for (const std::uint32_t gradient : {1u, 2u}) {
    *reinterpret_cast<KernelWord*>(host_view(other.heads.of_result(gradient)).data) = 1;
  }
  for (HeadsSide* side : {&one, &other}) REQUIRE(side->heads.agree(side->rank.transport).is_ok());
  test::join(one.rank.transport, other.rank.transport);
  for (HeadsSide* side : {&one, &other}) {
    REQUIRE(side->heads.download(*side->rank.stream).is_ok());
    CHECK(side->heads.say_finite(0));
    CHECK_FALSE(side->heads.say_finite(1));
    CHECK_FALSE(side->heads.say_finite(2));
  }
}

TEST_CASE("round heads: slots lie apart, in memory of the size that was asked for") {
  const HeadsSide side(0, {"int8", "", "powersgd"});
  const RoundHeads& heads = side.heads;
  const std::uint64_t first = DeviceView::of(side.memory.data(), 0).address();
  std::vector<std::uint64_t> slots{heads.of_payload(0, kContribution).address(), heads.of_payload(0, kResult).address(),
                                   heads.of_sum(1, 0).address(), heads.of_sum(2, 0).address(),
                                   heads.of_sum(2, 1).address()};
  const Bytes of_word = heads.of_result(0).address() - heads.of_sum(2, 1).address() - compll::kHeaderBytes;
  CHECK(of_word + sizeof(KernelWord) <= compll::kHeaderBytes);
  for (std::uint32_t g = 0; g < 3; ++g) slots.push_back(heads.of_result(g).address() - of_word);
  for (std::size_t i = 1; i < slots.size(); ++i) CHECK(slots[i] >= slots[i - 1] + compll::kHeaderBytes);
  CHECK(slots.front() == first);
  CHECK(slots.back() + compll::kHeaderBytes <= first + heads.bytes());
  CHECK(heads.bytes() % 256 == 0);
}

TEST_CASE("round heads: a slot is one task's, and other partitions have none") {
  HeadsSide side(0, {"int8", "int8"});
  CHECK(side.heads.reserve(0, kContribution));
  CHECK(side.heads.reserve(0, kResult));
  CHECK(side.heads.reserve(1, kContribution));
  CHECK_FALSE(side.heads.reserve(0, kContribution));
  CHECK_FALSE(side.heads.reserve(0, {{0, 100}, Hop::kFirst, 1}));
}
