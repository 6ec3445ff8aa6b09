// SPDX-License-Identifier: Apache-2.0
//
// One partition at its owner, on the host: contributions of two ranks, and the answers to them.
#include "runtime/executor/owned_partition.h"

#include <catch2/catch.hpp>
#include <limits>

#include "runtime/executor/answering.h"
#include "runtime/executor/run_states.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr Elements kCount = 100;

/// The owner's side of a gradient on rank 0, with `own` as this rank's elements and a place for its answer.
struct OwnedSide {
  OwnedSide() {
    Plan plan;
    plan.mode.asynchronous = Asynchronous{};
    const Topology topology = Topology::flat(2);
    const Result<Declared> declared = declare_gradient(plan, {"weight", DType::kFloat32, {kCount}, 0}, topology);
    run = std::move(make_run(*declared, topology, 0, 0)).value();
    REQUIRE(allocate_kept(*run, *device).is_ok());
    reserve_scratch(*run->owner_side(), 2, scratch);
    run->step.begin(0, view(own), Clock::now());
    side().answering->put_off_from(Answering::kEver);
  }
  static View view(std::vector<float>& values) {
    return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
  }
  GradientRun& side() { return *run->owner_side(); }
  OwnedPartition& partition() { return side().answering->of(TaskId{0}); }

  /// A contribution of rank 1 to `step` arrives.
  void arrive(std::uint32_t step, float value, bool finite = true) {
    const BufferId buffer = partition().messages(1).contribution;
    std::fill_n(reinterpret_cast<float*>(side().state(buffer).memory.data), kCount, value);
    side().buffers.make(buffer, kCount * sizeof(float), finite);
    partition().batches().contribute(1, step);
  }
  /// The whole of a batch. Returns false if no answer is due.
  bool batch() {
    if (!partition().begin(view(answer))) return false;
    REQUIRE(partition().run(side(), 0, 0.5f, scratch).status.text() == "OK");
    partition().batches().finish();
    for (const Rank rank : partition().batches().answered()) partition().batches().left(rank);
    return true;
  }
  float told(Rank rank) {
    if (rank == 0) return answer[7];
    return reinterpret_cast<const float*>(side().state(partition().messages(1).answer).memory.data)[7];
  }

  const std::unique_ptr<Device> device = make_host_device();
  std::unique_ptr<GradientRun> run;
  Scratch scratch;
  std::vector<float> own = std::vector<float>(kCount, 2), answer = std::vector<float>(kCount);
};

}  // namespace

TEST_CASE("owned partition: an answer is all that its rank has not been told, and no batch begins without one due") {
  OwnedSide one;
  CHECK(one.partition().number() == 0);
  CHECK(one.partition().elements() == kCount);
  CHECK_FALSE(one.batch());
  one.arrive(0, 10);
  REQUIRE(one.batch());
  CHECK(one.told(1) == 5);  // half of 10
  one.partition().batches().contribute(0, 0);
  REQUIRE(one.batch());
  CHECK(one.told(0) == 6);  // half of 10 + 2
  one.arrive(1, 4);
  REQUIRE(one.batch());
  CHECK(one.told(1) == 3);  // half of 2 + 4
  CHECK(one.partition().answer_to(1).finite);
  CHECK_FALSE(one.batch());
}

TEST_CASE("owned partition: a contribution that is not finite is left out, whoever says so") {
  for (const bool told : {true, false}) {
    OwnedSide one;
    one.arrive(0, told ? 10 : std::numeric_limits<float>::infinity(), !told);
    REQUIRE(one.batch());
    CHECK_FALSE(one.partition().answer_to(1).finite);
    CHECK(one.told(1) == 0);
    one.arrive(1, 4);
    REQUIRE(one.batch());
    CHECK(one.partition().answer_to(1).finite);
    CHECK(one.told(1) == 2);
  }
}

TEST_CASE("owned partition: a payload that is none fails its batch, with rank, gradient, step and partition") {
  OwnedSide one;
  one.arrive(3, 10);
  CHECK(one.partition().check(one.side(), 1).is_ok());
  one.side().buffers.make(one.partition().messages(1).contribution, 12, true);
  CHECK_THAT(one.partition().check(one.side(), 1).text(),
             Catch::StartsWith("DataLoss: message from rank 1 (gradient weight, step 3, partition 0): "));
  REQUIRE(one.partition().begin(one.view(one.answer)));
  CHECK_THAT(one.partition().run(one.side(), 0, 0.5f, one.scratch).status.text(), Catch::StartsWith("DataLoss: "));
}

TEST_CASE("owned partition: levelled sums are the same for all ranks, and steps go on from there") {
  OwnedSide one;
  one.arrive(0, 10);
  REQUIRE(one.batch());  // rank 0 has not been told 10
  one.partition().begin_levelling(5);
  CHECK(one.partition().is_levelling());
  CHECK(one.partition().run(one.side(), 0, 0.5f, one.scratch).status.is_ok());
  one.partition().end_levelling();
  CHECK_FALSE(one.partition().is_levelling());
  CHECK(one.partition().batches().contributed(1) == 5);
  one.arrive(5, 0);
  REQUIRE(one.batch());
  CHECK(one.told(1) == 2.5f);  // half of the mean of 10 and 0
}
