// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_states.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "runtime/executor/answering.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

std::unique_ptr<GradientRun> make(const Plan& plan, const std::string& name, std::int64_t elements) {
  const Topology topology = Topology::flat(2);
  const Result<Declared> declared = declare_gradient(plan, {name, DType::kFloat32, {elements}, 0}, topology);
  return std::move(make_run(*declared, topology, 0, 0)).value();
}

}  // namespace

TEST_CASE("run states: small gradients lie in one block, each with memory of its own") {
  const std::unique_ptr<Device> device = make_host_device();
  Plan plan;
  plan.defaults.codec = CodecChoice{"int8", {}};
  std::vector<std::unique_ptr<GradientRun>> runs;
  for (const char* name : {"a", "b", "large"}) runs.push_back(make(plan, name, *name == 'l' ? 100'000 : 100));
  REQUIRE(allocate_kept(runs, *device).is_ok());
  std::vector<std::uint64_t> at;
  for (std::size_t i = 0; i < 2; ++i) {
    at.push_back(runs[i]->kept.from(0).in.address());
    at.push_back(runs[i]->kept.from(0).out.address());
  }
  std::sort(at.begin(), at.end());
  CHECK(at[3] - at[0] < 4 * 1024);
  for (std::size_t i = 1; i < at.size(); ++i) CHECK(at[i] - at[i - 1] >= 100 * sizeof(float));
  const std::uint64_t large = runs[2]->kept.from(0).in.address();
  CHECK((large + 400'000 <= at[0] || large >= at[3] + 400));
  for (const auto& run : runs) {
    std::vector<float> kept(run->elements, 3), read;
    REQUIRE(write_kept(*run, *device, kept).is_ok());
    REQUIRE(read_kept(*run, *device, &read).is_ok());
    CHECK(read == kept);
    REQUIRE(reset_kept(*run, *device).is_ok());
    REQUIRE(read_kept(*run, *device, &read).is_ok());
    CHECK(read == std::vector<float>(run->elements, 0));
  }
}

TEST_CASE("run states: an owner's state has what its codecs keep, and then what it has told nobody") {
  const std::unique_ptr<Device> device = make_host_device();
  Plan plan;
  plan.mode.asynchronous = Asynchronous{};
  plan.defaults.codec = CodecChoice{"int8", {}};
  const auto run = make(plan, "weight", 100);
  REQUIRE(run->owner_side() != nullptr);
  REQUIRE(allocate_kept(*run, *device).is_ok());
  const Elements own = run->kept.floats(), all = state_floats(*run);
  CHECK(own > 0);
  CHECK(all == own + run->owner_side()->answering->state_floats());
  CHECK(all > own);
  std::vector<float> state(all), read;
  for (std::size_t i = 0; i < all; ++i) state[i] = static_cast<float>(i);
  run->go_to(4);
  REQUIRE(write_kept(*run, *device, state).is_ok());
  REQUIRE(read_kept(*run, *device, &read).is_ok());
  CHECK(read == state);
  CHECK(run->owner_side()->answering->puts_off(4));
  CHECK_FALSE(run->owner_side()->answering->puts_off(3));
}
