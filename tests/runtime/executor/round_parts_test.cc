// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_parts.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

using Kind = RoundPart::Kind;

std::vector<Kind> kinds_of(const std::vector<RoundPart>& parts) {
  std::vector<Kind> kinds;
  for (const RoundPart& part : parts) kinds.push_back(part.kind);
  return kinds;
}

}  // namespace

TEST_CASE("round parts: tasks are in front of their round's exchange, and agreeing comes after all of them") {
  const test::RoundsRank owner(0, 2, {"int8"}), other(1, 2, {"int8"});
  // Gets a contribution, merges, sends the result, decodes.
  CHECK(kinds_of(parts_of(owner.bucket, owner.runs)) == std::vector{Kind::kBegin, Kind::kExchange, Kind::kTask,
                                                                    Kind::kTask, Kind::kExchange, Kind::kAgree,
                                                                    Kind::kEnd});
  // Encodes, sends, gets the result, decodes.
  CHECK(kinds_of(parts_of(other.bucket, other.runs)) == std::vector{Kind::kBegin, Kind::kTask, Kind::kExchange,
                                                                    Kind::kExchange, Kind::kTask, Kind::kAgree,
                                                                    Kind::kEnd});
  CHECK(other.parts(Kind::kExchange)[1].number == 1);
  CHECK(all_reduced_of(owner.bucket) == std::vector{false});
}

TEST_CASE("round parts: each turn but the last of a codec that exchanges is followed by an all-reduce") {
  const test::RoundsRank rank(0, 2, {"", "powersgd"});
  const RoundTask plain{0, {}}, turns{1, {}};
  CHECK(parts_of(rank.bucket, rank.runs) == std::vector<RoundPart>{{Kind::kBegin, 0, {}},
                                                                   {Kind::kAllReduce, 0, plain},
                                                                   {Kind::kScale, 0, plain},
                                                                   {Kind::kTurn, 0, turns},
                                                                   {Kind::kAllReduce, 0, turns},
                                                                   {Kind::kScale, 0, turns},
                                                                   {Kind::kTurn, 1, turns},
                                                                   {Kind::kAllReduce, 1, turns},
                                                                   {Kind::kScale, 1, turns},
                                                                   {Kind::kTurn, 2, turns},
                                                                   {Kind::kAgree, 0, {}},
                                                                   {Kind::kEnd, 0, {}}});
  CHECK(all_reduced_of(rank.bucket) == std::vector{true, true});
}

TEST_CASE("round parts: gradients have their places in the bucket, not in the order of all") {
  const test::RoundsRank rank(1, 2, {"int8", ""});
  Bucket later = rank.bucket;
  later.first_gradient = 7;
  for (Round& round : later.rounds) {
    for (RoundTask& task : round.tasks) task.gradient += 7;
    for (std::uint32_t& gradient : round.all_reduced) gradient += 7;
  }
  CHECK(parts_of(later, rank.runs) == parts_of(rank.bucket, rank.runs));
  CHECK(all_reduced_of(later) == std::vector{false, true});
}

TEST_CASE("round parts: exchanges, all-reduces and agreeing call the transport, others do not") {
  for (const Kind kind : {Kind::kExchange, Kind::kAllReduce, Kind::kAgree}) {
    CHECK(RoundPart{kind, 0, {}}.calls_transport());
  }
  for (const Kind kind : {Kind::kBegin, Kind::kTask, Kind::kTurn, Kind::kScale, Kind::kEnd}) {
    CHECK_FALSE(RoundPart{kind, 0, {}}.calls_transport());
  }
}
