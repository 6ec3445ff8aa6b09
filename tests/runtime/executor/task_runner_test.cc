// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/task_runner.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "compll/codec/payload.h"
#include "runtime/executor/bundle.h"
#include "runtime/executor/run_states.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::uint64_t kSeed = 5;
constexpr std::size_t kMembers = 3;

template <class Kind>
TaskId task_of(const GradientRun& run) {
  for (std::size_t i = 0; i < run.graph.tasks().size(); ++i) {
    if (std::holds_alternative<Kind>(run.graph.tasks()[i])) return TaskId(static_cast<std::uint32_t>(i));
  }
  throw std::runtime_error("no such task");
}

/// Three small gradients of a rank of two, of which rank 0 owns all, and their bundle in step 4.
struct Bundled {
  explicit Bundled(Rank self) {
    Plan plan;
    plan.defaults.codec = CodecChoice{"int8", {}};
    const Topology topology = Topology::flat(2);
    for (std::size_t i = 0; i < kMembers; ++i) {
      const std::vector<std::int64_t> shape{i == 2 ? 50 : 300};
      const Result<Declared> declared =
          declare_gradient(plan, {"weight" + std::to_string(i), DType::kFloat32, shape, 0}, topology);
      owned.push_back(std::move(make_run(*declared, topology, self, 0)).value());
      members.push_back(owned.back().get());
      values.emplace_back(members[i]->elements);
      std::iota(values[i].begin(), values[i].end(), static_cast<float>(i) - 100);
    }
    REQUIRE(allocate_kept(owned, *device).is_ok());
    run = std::make_unique<GradientRun>(members);
    for (std::uint32_t i = 0; i < kMembers; ++i) run->parts->offer(i, view(values[i]), 4);
    REQUIRE(run->parts->take_offer());
    run->begin(4, {});
    run->parts->begin_members(Clock::now());
    reserve_scratch(*run, 2, scratch);
  }
  static View view(std::vector<float>& floats) {
    return {reinterpret_cast<std::byte*>(floats.data()), floats.size() * sizeof(float)};
  }
  /// Gives memory to a buffer.
  View place(BufferId buffer) {
    std::vector<std::byte>& bytes = memory.emplace_back(run->buffers.bound_of(buffer));
    run->buffers.place(buffer, {bytes.data(), bytes.size()}, false);
    return {bytes.data(), bytes.size()};
  }
  const compll::Codec& codec() const { return run->codec(Hop::kFirst); }

  const std::unique_ptr<Device> device = make_host_device();
  std::vector<std::unique_ptr<GradientRun>> owned;
  std::vector<GradientRun*> members;
  std::vector<std::vector<float>> values;
  std::vector<std::vector<std::byte>> memory;
  std::unique_ptr<GradientRun> run;
  Scratch scratch;
};

/// A contribution of rank 1, and the buffer of rank 0 that it arrives in.
struct Contributed {
  Contributed() {
    const TaskId task = task_of<Encode>(*sender.run);
    const View made = sender.place(std::get<Encode>(sender.run->graph.tasks()[TaskGraph::index(task)]).to);
    sender.outcome = run_task(*sender.run, task, kSeed, 1, sender.scratch);
    to = std::get<Recv>(owner.run->graph.tasks()[TaskGraph::index(task_of<Recv>(*owner.run))]).to;
    arrived = owner.place(to);
    std::copy_n(made.data, made.size, arrived.data);
    owner.run->buffers.receive(to, true, true);
  }
  View part(std::size_t at) const { return owner.run->parts->part(arrived, Hop::kFirst, at); }

  struct Sender : Bundled {
    Sender() : Bundled(1) {}
    TaskOutcome outcome;
  } sender;
  Bundled owner{0};
  BufferId to{};
  View arrived;
};

}  // namespace

TEST_CASE("task runner: a bundle's parts and states are those that each gradient has alone") {
  Contributed one;
  REQUIRE(one.sender.outcome.status.is_ok());
  CHECK(one.sender.outcome.finite);
  for (std::size_t i = 0; i < kMembers; ++i) {
    const GradientRun& member = *one.sender.members[i];
    const Elements n = member.elements;
    const std::vector<float> before(n);
    std::vector<float> left(n);
    std::vector<std::byte> alone(one.sender.codec().encoded_bound(n));
    one.sender.codec().encode(one.sender.values[i].data(), n, {before.data(), left.data(), n},
                              context_of(1, member.key, 4, one.sender.codec().info(), KeptBy::kEncode, {0, n}, kSeed),
                              alone.data());
    const View part = one.part(i);
    CHECK(std::vector<std::byte>(part.data, part.data + part.size) == alone);
    const auto* const kept = reinterpret_cast<const float*>(member.kept.from(0).out.address());
    CHECK(std::vector<float>(kept, kept + n) == left);
  }
  CHECK(check_payload(*one.owner.run, one.to).is_ok());
}

TEST_CASE("task runner: a part of a bundle that is no payload is refused by its gradient's name, whatever is wrong") {
  constexpr Bytes kFirstScale = compll::kHeaderBytes, kGap = kFirstScale + 8;  // 300 elements have two scales
  for (const Bytes at : {Bytes{0}, Bytes{3}, Bytes{4}, Bytes{5}, Bytes{8}, kFirstScale + 3, kGap, kGap + 7}) {
    INFO("byte " << at);
    Contributed one;
    one.part(1).data[at] ^= std::byte{0x82};
    const Status status = check_payload(*one.owner.run, one.to);
    CHECK(status.code() == StatusCode::kDataLoss);
    CHECK_THAT(status.message(), Catch::Contains("message from rank 1 (gradient weight1, step 4, partition 0)"));
    CHECK_THAT(status.message(), Catch::Contains("not a payload of its codec"));
  }
}

TEST_CASE("task runner: a bundle is merged and decoded as each of its gradients") {
  Contributed one;
  GradientRun& run = *one.owner.run;
  const TaskId merges = task_of<Merge>(run);
  one.owner.place(std::get<Merge>(run.graph.tasks()[TaskGraph::index(merges)]).to);
  const TaskOutcome merged = run_task(run, merges, kSeed, 0.5f, one.owner.scratch);
  REQUIRE(merged.status.is_ok());
  run.buffers.make(std::get<Merge>(run.graph.tasks()[TaskGraph::index(merges)]).to, merged.bytes, merged.finite);
  REQUIRE(run_task(run, task_of<Decode>(run), kSeed, 0.5f, one.owner.scratch).status.is_ok());
  for (std::size_t i = 0; i < kMembers; ++i) {
    for (std::size_t k = 0; k < one.owner.values[i].size(); ++k) {
      const float whole = static_cast<float>(k) + static_cast<float>(i) - 100;
      if (std::abs(one.owner.values[i][k] - whole) <= 3) continue;
      FAIL("gradient " << i << ", element " << k << ": " << one.owner.values[i][k] << ", expected " << whole);
    }
  }
}
