// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/answering.h"

#include <catch2/catch.hpp>
#include <set>

#include "casync/strategies/asynchronous.h"
#include "runtime/executor/run_states.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Rank 0's side of a gradient in four partitions, on two ranks.
struct AnsweringSide {
  AnsweringSide() {
    Plan plan;
    plan.mode.asynchronous = Asynchronous{};
    plan.defaults.partitions = 4;
    const Topology topology = Topology::flat(2);
    const Result<Declared> declared = declare_gradient(plan, {"weight", DType::kFloat32, {1000}, 0}, topology);
    run = std::move(make_run(*declared, topology, 0, 0)).value();
    REQUIRE(allocate_kept(*run, *device).is_ok());
  }
  Answering& answering() { return *run->owner_side()->answering; }

  const std::unique_ptr<Device> device = make_host_device();
  std::unique_ptr<GradientRun> run;
};

}  // namespace

TEST_CASE("answering: a batch is found by its partition's number, and an answer's batch and rank by its send") {
  AnsweringSide side;
  Answering& answering = side.answering();
  REQUIRE(answering.partitions() == 2);
  std::set<std::uint32_t> numbers;
  answering.for_each_task([&](TaskId task) {
    const OwnedPartition& partition = answering.of(task);
    numbers.insert(partition.number());
    CHECK(answering.find(partition.number()) == task);
    CHECK(partition.elements() == 250);
    const Answering::Addressee to = answering.addressee(partition.messages(1).send);
    CHECK(to.task == task);
    CHECK(to.rank == 1);
  });
  CHECK(numbers.size() == 2);
  for (std::uint32_t number = 0; number < 5; ++number) {
    CHECK(answering.find(number).has_value() == numbers.contains(number));
  }
}

TEST_CASE("answering: it is closed until contributions are taken, and takes those of earlier steps than it puts off") {
  AnsweringSide side;
  Answering& answering = side.answering();
  CHECK(answering.is_closed());
  CHECK(answering.puts_off(0));
  answering.put_off_from(3);
  CHECK(answering.is_closed());
  CHECK_FALSE(answering.puts_off(2));
  CHECK(answering.puts_off(3));
  answering.put_off_from(Answering::kEver);
  CHECK_FALSE(answering.is_closed());
  CHECK_FALSE(answering.puts_off(1000000));
}

TEST_CASE("answering: the levelling of the last partition ends all") {
  AnsweringSide side;
  Answering& answering = side.answering();
  answering.begin_levelling(TaskId{0}, 4);
  answering.begin_levelling(TaskId{1}, 4);
  CHECK_FALSE(answering.finish_levelling(TaskId{1}));
  CHECK(answering.finish_levelling(TaskId{0}));
  CHECK(answering.of(TaskId{0}).batches().contributed(1) == 4);
}

TEST_CASE("answering: a state is every partition's sums, which come back from it") {
  AnsweringSide side;
  Answering& answering = side.answering();
  REQUIRE(answering.state_floats() == 500);
  std::vector<float> written(500), read(500);
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<float>(i);
  REQUIRE(answering.write(written, 7).is_ok());
  REQUIRE(answering.read(read).is_ok());
  CHECK(read == written);
  CHECK(answering.is_closed());
  CHECK(answering.puts_off(7));
  CHECK_FALSE(answering.puts_off(6));
  CHECK(answering.of(TaskId{0}).batches().contributed(1) == 7);
  REQUIRE(answering.write({}, 0).is_ok());
  REQUIRE(answering.read(read).is_ok());
  CHECK(read == std::vector<float>(500, 0));
}
