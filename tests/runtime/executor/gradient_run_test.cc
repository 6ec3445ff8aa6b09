// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/gradient_run.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "tests/runtime/executor/one_rank.h"
#include "tests/runtime/executor/owner_graph.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::uintptr_t kLine = 64;
std::uintptr_t line_of(const void* at) { return reinterpret_cast<std::uintptr_t>(at) / kLine; }

}  // namespace

TEST_CASE("gradient run: a step of a small gradient touches two cache lines") {
  const auto run = test::make_weight("weight", 2, 0);
  CHECK(line_of(&run->seat) == line_of(&run->step));
  CHECK(line_of(&run->seat) == line_of(reinterpret_cast<const std::byte*>(&run->step + 1) - 1));
  CHECK(line_of(&run->key) == line_of(&run->kept));
  CHECK(reinterpret_cast<std::uintptr_t>(&run->kept) % kLine <= 24);  // the first 40 bytes are what tasks read of it
}

TEST_CASE("gradient run: a step begins in all parts at once") {
  const auto run = test::make_weight("weight", 2, 0);
  std::vector<float> values(100, 1);
  const View data{reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
  for (std::uint32_t step = 0; step < 2; ++step) {
    run->begin(step, data);
    CHECK(run->step.is_under_way(step));
    CHECK_FALSE(run->tasks.are_done());
    CHECK_FALSE(run->arrivals.all()[0].has_begun());
    CHECK(run->state(BufferId{0}).uses_left > 0);
    CHECK(run->memory({10, 5}).data == data.data + 40);
    CHECK(run->memory({10, 5}).size == 20);
    run->arrivals.find(run->arrivals.all()[0].id(), 1)->begin();
    run->related.choose(run.get());
  }
}

TEST_CASE("gradient run: all that belongs to it goes to a step with it") {
  const auto run = test::make_rounds_weight(std::make_unique<test::NoTurns>(), 2, 0);
  run->rounds->add(test::make_weight("round 0", 2, 0));
  run->related.add_warm_up(2, test::make_weight("warm-up", 2, 0));
  auto gossip = test::make_rounds_weight(std::make_unique<test::NoTurns>(), 2, 0);
  gossip->rounds->add(test::make_weight("differences", 2, 0));
  run->related.add_gossip(std::move(gossip));
  std::vector<std::string> names;
  run->for_each([&](const GradientRun& one) { names.push_back(one.spec.name); });
  CHECK(names == std::vector<std::string>{"weight", "warm-up", "weight", "differences", "round 0"});
  run->go_to(9);
  run->for_each([](const GradientRun& one) { CHECK(one.step.completed() == 9); });
}

TEST_CASE("gradient run: on a device no payload lies in it, so that each task moves some") {
  const auto run = test::make_weight("weight", 2, 0);
  const auto any_instant = [&] {
    bool any = false;
    for (std::uint32_t i = 0; i < run->tasks.count(); ++i) any = any || run->tasks.is_instant(TaskId{i});
    return any;
  };
  CHECK(any_instant());
  run->move_to_device();
  CHECK_FALSE(any_instant());
}

TEST_CASE("gradient run: elements on a device are found by slice, after what the program writes") {
  const auto run = test::make_weight("weight", 2, 0);
  run->device.begin({4096, 400}, nullptr);
  CHECK(run->device.memory({10, 5}).address() == 4096 + 40);
  CHECK(run->device.memory({10, 5}).size() == 20);
  CHECK(run->device.ready() == nullptr);
}
