// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/rounds_run.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("rounds run: turns and exchanges follow each other, and each step begins with the first turn") {
  RoundsRun rounds(std::make_unique<test::NoTurns>(), 4, 5);
  rounds.add(test::make_weight("round 0", 2, 0));
  GradientRun& exchange = *rounds.exchanges()[0];
  CHECK(rounds.turns() == 2);
  for (std::uint32_t step = 0; step < 2; ++step) {
    rounds.begin();
    CHECK(rounds.turn() == 0);
    CHECK_FALSE(rounds.is_last());
    CHECK(rounds.under_way() == nullptr);
    exchange.begin(step, {});
    CHECK(rounds.under_way() == &exchange);
    exchange.step.end(Clock::now());
    rounds.go_on();
    CHECK(rounds.is_last());
    CHECK(rounds.under_way() == nullptr);
  }
}

TEST_CASE("rounds run: exchanged arrays have memory, and kernels may take more scratch") {
  const std::unique_ptr<Device> device = make_host_device();
  RoundsRun rounds(std::make_unique<test::NoTurns>(), 4, 5);
  CHECK(rounds.exchanged().empty());
  REQUIRE(rounds.allocate(*device).is_ok());
  REQUIRE(rounds.exchanged().size() == 1);
  CHECK(rounds.exchanged()[0]->device().size() == sizeof(float));
  CHECK(rounds.scratch()->device().size() == 0);
  rounds.use_scratch(std::move(device->allocate(64, Memory::kDevice)).value());
  CHECK(rounds.scratch()->device().size() == 64);
}
