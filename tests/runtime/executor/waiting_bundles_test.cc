// SPDX-License-Identifier: Apache-2.0
//
// Bundles of other gradients than the owner's, part by part.
#include "runtime/executor/waiting_bundles.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/runtime/executor/bundle_job.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::uint64_t kUnknown = 4711;  // the key of a bundle that this rank has not made

/// Rank 1's contributions to gradients 0 and 2 come to rank 0 in one bundle.
struct Coming : test::BundleJob {
  explicit Coming(std::uint64_t epoch) : BundleJob(epoch) {
    for (const std::size_t i : {0u, 2u}) entries.push_back({runs[0][i]->key, bytes, 400}), bytes += 400;
    const GradientRun& run = *runs[0][0];
    message.key = {kUnknown, 0, kBundledPartition, run.arrivals.all()[0].id().hop};
    message.codec = run.codec(Hop::kFirst).info().number;
    message.payload_bytes = bytes;
  }
  void write(View payload) {
    write_bundle_head(entries, payload);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      set_bundle_part_finite(payload, entries.size(), i, true);
      std::fill_n(reinterpret_cast<float*>(payload.data + entries[i].offset), 100, 2.0f);
    }
  }
  /// Rank 0 begins one gradient. True: its result is there.
  bool begin_at_owner(std::size_t gradient) {
    begin_one(0, gradient);
    waiting.hand_out_to(*runs[0][gradient]);
    test::run_all(ranks);
    return runs[0][gradient]->step.completed() == 1;
  }

  test::OneRank& one = *ranks[0];
  WaitingBundles waiting{one.parts.arena, one.parts.runs, one.parts.messages, one.failures};
  std::uint32_t bytes = static_cast<std::uint32_t>(bundle_head_bytes(2));
  std::vector<BundleEntry> entries;
  Message message;
};

}  // namespace

TEST_CASE("waiting bundles: each member takes its part as it begins, and the last one ends the bundle") {
  Coming it(905);
  it.write(it.waiting.expect(1, it.message).view);
  CHECK_FALSE(it.waiting.received(0, it.message));  // rank 0 has sent none
  CHECK(it.waiting.received(1, it.message));
  CHECK_FALSE(it.waiting.received(1, it.message));  // it is there
  CHECK_FALSE(it.begin_at_owner(1));
  CHECK(it.begin_at_owner(2));
  CHECK(it.values[0][2] == std::vector<float>(100, 3));
  CHECK_FALSE(it.waiting.empty());
  CHECK(it.begin_at_owner(0));
  CHECK(it.values[0][0] == std::vector<float>(100, 3));
  CHECK(it.waiting.empty());
  CHECK(it.one.reported.empty());
}

TEST_CASE("waiting bundles: members that have begun take their parts when it arrives") {
  Coming it(906);
  it.begin_one(0, 0);
  it.begin_one(0, 2);
  it.write(it.waiting.expect(1, it.message).view);
  it.waiting.hand_out_to(*it.runs[0][0]);  // nothing has arrived
  test::run_all(it.ranks);
  CHECK(it.runs[0][0]->step.completed() == 0);
  CHECK(it.waiting.received(1, it.message));
  CHECK(it.waiting.empty());
  test::run_all(it.ranks);
  CHECK(it.runs[0][0]->step.completed() == 1);
  CHECK(it.runs[0][2]->step.completed() == 1);
}

TEST_CASE("waiting bundles: memory of the arena goes back once all parts are taken") {
  Coming it(907);
  Arena& arena = it.one.parts.arena;
  const View slot = arena.take(it.bundle(0).buffers.bound_of(BufferId{0}));
  it.write(slot);
  it.waiting.keep(1, it.message, slot, true);
  it.begin_at_owner(0);
  const View other = arena.take(slot.size);
  CHECK(other.data != slot.data);
  arena.give_back(other);
  it.begin_at_owner(2);
  CHECK(it.waiting.empty());
  CHECK(arena.take(slot.size).data == slot.data);
}

TEST_CASE("waiting bundles: one of this rank's own gradients goes to these as a whole") {
  Coming it(908);
  const std::span<const BundleEntry> entries = it.bundle(0).parts->entries(Hop::kFirst);
  it.entries.assign(entries.begin(), entries.end());
  it.message.key.gradient = it.bundle(0).key;
  it.message.elements = it.bundle(0).elements;
  it.message.payload_bytes = it.bundle(0).parts->bytes(Hop::kFirst);
  it.write(it.waiting.expect(1, it.message).view);
  CHECK(it.waiting.received(1, it.message));
  it.begin_together(0);
  it.waiting.hand_out_bundle(kUnknown);
  CHECK_FALSE(it.waiting.empty());
  it.waiting.hand_out_bundle(it.bundle(0).key);
  CHECK(it.waiting.empty());
  test::run_all(it.ranks);
  CHECK(it.runs[0][1]->step.completed() == 1);
  CHECK(it.values[0][1] == std::vector<float>(100, 3));
}

TEST_CASE("waiting bundles: bytes that are none end the job") {
  Coming it(909);
  const View payload = it.waiting.expect(1, it.message).view;
  std::fill_n(payload.data, payload.size, std::byte{0xff});
  CHECK(it.waiting.received(1, it.message));
  CHECK(it.one.reported ==
        std::vector<std::string>{"DataLoss: message from rank 1 (step 0): not a bundle of gradients"});
}

TEST_CASE("waiting bundles: a peer that sends more than there is room for is refused, until its bundles are taken") {
  Coming it(911);
  ProgressParts& parts = it.one.parts;
  WaitingBundles waiting(parts.arena, parts.runs, parts.messages, it.one.failures, 1500);  // one has 1,000 or so
  Message second = it.message;
  ++second.key.gradient;
  it.write(waiting.expect(1, it.message).view);
  const Placement refused = waiting.expect(1, second);
  REQUIRE(refused.kind == Placement::Kind::kRefuse);
  CHECK(refused.reason.text() ==
        "DataLoss: it sent bundles of more than 1500 bytes together, and no gradient in them has begun here");
  CHECK(waiting.expect(0, second).kind == Placement::Kind::kHere);  // another peer's
  CHECK(waiting.received(1, it.message));
  for (const std::size_t i : {0u, 2u}) {
    CHECK(waiting.expect(1, second).kind == Placement::Kind::kRefuse);
    it.begin_one(0, i);
    waiting.hand_out_to(*it.runs[0][i]);
  }
  CHECK(waiting.expect(1, second).kind == Placement::Kind::kHere);
  CHECK(it.one.reported.empty());
}
