// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_tasks.h"

#include <catch2/catch.hpp>
#include <limits>

#include "compll/codec/payload.h"
#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

using Kind = RoundPart::Kind;

/// The tasks of one rank of two, with memory for all that they need.
struct RoundSide {
  RoundSide(Rank self, const std::vector<std::string>& codecs) : rank(self, 2, codecs) { rank.begin(0, 3); }
  /// Plans all tasks in their order, and gives them memory.
  void open() {
    for (const RoundPart& part : parts_of(rank.bucket, rank.runs)) {
      if (part.kind != Kind::kTask && part.kind != Kind::kScale) continue;
      REQUIRE(tasks.plan(part).is_ok());
    }
    memory = std::move(rank.device->allocate(payloads.bytes() + heads.bytes() + room.device_bytes(), Memory::kDevice))
                 .value();
    const DeviceView all = memory->device();
    payloads.place(all.slice(0, payloads.bytes()));
    heads.place(all.slice(payloads.bytes(), heads.bytes()), {});
    room.place(all.slice(payloads.bytes() + heads.bytes(), room.device_bytes()), {});
    REQUIRE(heads.clear(*rank.stream).is_ok());
  }
  Status issue(const RoundPart& part) { return tasks.issue(part, *rank.stream); }

  test::RoundsRank rank;
  RoundPayloads payloads{rank.runs, all_reduced_of(rank.bucket)};
  RoundHeads heads{rank.runs, all_reduced_of(rank.bucket)};
  RoundRoom room;
  RoundTasks tasks{rank.runs, rank.settings(), payloads, heads, room};
  std::unique_ptr<DeviceBuffer> memory;
};

bool says_finite(DeviceView head) { return compll::says_finite(host_view(head).data); }

}  // namespace

TEST_CASE("round tasks: a contribution is encoded into its place, and its head into its slot") {
  for (const bool finite : {true, false}) {
    RoundSide side(1, {"int8"});
    side.open();
    if (!finite) side.rank.values[0][50] = std::numeric_limits<float>::infinity();
    const RoundPart part = side.rank.parts(Kind::kTask)[0];
    const auto& encode = std::get<Encode>(side.rank.runs[0]->graph.tasks()[TaskGraph::index(part.task.task)]);
    REQUIRE(side.issue(part).is_ok());
    const View payload = host_view(side.payloads.payload(0, encode.to));
    CHECK(side.rank.runs[0]->codec(Hop::kFirst).check({payload.data, payload.size}, 100).is_ok());
    CHECK(compll::says_finite(payload.data) == finite);
    CHECK(says_finite(side.heads.of_payload(0, {{0, 100}, Hop::kFirst, 0})) == finite);
  }
}

TEST_CASE("round tasks: elements that travel as they are get merged with the owner's, scaled, and looked at") {
  for (const bool finite : {true, false}) {
    RoundSide side(0, {"none"});
    side.open();
    const std::vector<RoundPart> parts = side.rank.parts(Kind::kTask);
    REQUIRE(parts.size() == 2);
    const auto& merge = std::get<Merge>(side.rank.runs[0]->graph.tasks()[TaskGraph::index(parts[0].task.task)]);
    for (const auto& one : merge.contributions) {
      if (!one) continue;
      auto* const arrived = reinterpret_cast<float*>(host_view(side.payloads.message(0, *one)).data);
      std::fill_n(arrived, 100, 8.0f);
      if (!finite) arrived[7] = std::numeric_limits<float>::quiet_NaN();
    }
    REQUIRE(side.issue(parts[0]).is_ok());
    REQUIRE(side.issue(parts[1]).is_ok());
    CHECK(side.rank.values[0][6] == 5.5f);  // half of 3 + 8
    CHECK(says_finite(side.heads.of_payload(0, {{0, 100}, Hop::kSecond, 0})) == finite);
  }
}

TEST_CASE("round tasks: a sum of an all-reduce is scaled in its place, and looked at") {
  for (const bool finite : {true, false}) {
    RoundSide side(0, {""});
    side.open();
    CHECK(RoundTasks::reduced(*side.rank.runs[0], 0).address() == side.rank.runs[0]->device.data().address());
    if (!finite) side.rank.values[0][9] = std::numeric_limits<float>::infinity();
    REQUIRE(side.issue(side.rank.parts(Kind::kScale)[0]).is_ok());
    CHECK(side.rank.values[0][8] == 1.5f);
    CHECK(says_finite(side.heads.of_sum(0, 0)) == finite);
  }
}

TEST_CASE("round tasks: a second payload of one partition and hop is refused") {
  RoundSide side(1, {"int8"});
  const RoundPart encode = side.rank.parts(Kind::kTask)[0];
  CHECK(side.tasks.plan(encode).is_ok());
  CHECK(side.tasks.plan(encode).text() ==
        "Unimplemented: its strategy makes several payloads of a partition, which rounds do not do");
}

TEST_CASE("round tasks: planning touches no gradient") {
  RoundSide side(0, {"none", ""});
  side.open();
  CHECK(side.rank.values[0] == std::vector<float>(100, 3));
  CHECK(side.rank.values[1] == std::vector<float>(100, 3));
  CHECK(side.room.device_bytes() > 0);
}
