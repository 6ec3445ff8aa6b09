// SPDX-License-Identifier: Apache-2.0
//
// Buckets of gradients, and the order of those of a step.
#include "runtime/executor/round_order.h"

#include <catch2/catch.hpp>

#include "base/allocation_count.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/run_states.h"
#include "runtime/session/declarations.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Gradients of rank 0 of two, of 400 bytes each.
struct Order {
  explicit Order(Bytes bucket_bytes) : order(*device, {5, 0.5f, bucket_bytes}) {}
  GradientRun& make(const std::string& name, const std::string& codec, std::uint32_t warm_up_steps = 0) {
    Plan plan;
    plan.defaults.codec = CodecChoice{codec, {}};
    if (warm_up_steps > 0) plan.defaults.warm_up_steps = warm_up_steps;
    const Topology topology = Topology::flat(2);
    const auto declared = declare_gradient(plan, {name, DType::kFloat32, {100}, 0}, topology);
    owned.push_back(std::move(make_run(*declared, topology, 0, 0)).value());
    REQUIRE(allocate_kept(*owned.back(), *device).is_ok());
    return *owned.back();
  }
  Status take_in(const std::vector<GradientRun*>& gradients) {
    std::vector<GradientRun*> all;
    for (GradientRun* gradient : gradients) {
      gradient->for_each([&](GradientRun& one) { all.push_back(&one); });
    }
    return order.take_in(all);
  }

  const std::unique_ptr<Device> device = make_host_device();
  std::vector<std::unique_ptr<GradientRun>> owned;
  RoundOrder order;
};

}  // namespace

TEST_CASE("round order: gradients go in the order in which they came, as many to a bucket as it has bytes for") {
  Order it(800);
  GradientRun &a = it.make("a", "int8"), &b = it.make("b", "none"), &c = it.make("c", "int8");
  REQUIRE(it.take_in({&a, &b, &c}).is_ok());
  CHECK(it.order.size() == 0);
  it.order.choose(0);
  CHECK(it.order.size() == 2);
  CHECK(it.order.gradients() == 3);
  CHECK(it.order.place_of(a) == 0);
  CHECK(it.order.place_of(b) == 0);
  CHECK(it.order.place_of(c) == 1);
  CHECK(it.order.at(1).members().runs() == std::vector<GradientRun*>{&c});

  GradientRun& later = it.make("later", "int8");
  const RoundBucket* const first = &it.order.at(0);
  REQUIRE(it.take_in({&later}).is_ok());
  CHECK(it.order.size() == 2);
  it.order.choose(0);
  CHECK(it.order.size() == 3);
  CHECK(it.order.place_of(later) == 2);
  CHECK(&it.order.at(0) == first);
}

TEST_CASE("round order: in steps of warm-up another bucket has the gradient's place, and others keep theirs") {
  Order it(1);
  GradientRun &plain = it.make("plain", "int8"), &warm = it.make("warm", "int8", 2);
  REQUIRE(it.take_in({&plain, &warm}).is_ok());
  GradientRun* const instead = warm.related.warm_up_in(0);
  REQUIRE(instead != nullptr);
  it.order.choose(1);
  CHECK(it.order.size() == 2);
  CHECK(it.order.place_of(*instead) == 1);
  const std::uint64_t before = allocations_of_this_thread();
  it.order.choose(0);
  CHECK(allocations_of_this_thread() == before);
  it.order.choose(2);
  CHECK(it.order.size() == 2);
  CHECK(it.order.place_of(plain) == 0);
  CHECK(it.order.place_of(warm) == 1);
  CHECK(it.order.at(1).members().runs() == std::vector<GradientRun*>{&warm});
}

TEST_CASE("round order: a codec whose sizes depend on the gradient is refused with the gradient's name") {
  Order it(1);
  const Status refused = it.take_in({&it.make("layer", "topk_coded")});
  CHECK(refused.code() == StatusCode::kUnimplemented);
  CHECK_THAT(refused.message(), Catch::StartsWith("gradient layer: codec `topk_coded` has coded sections"));
}

TEST_CASE("round order: memory that is kept leaves the order as it is") {
  Order it(1);
  REQUIRE(it.take_in({&it.make("a", "int8")}).is_ok());
  it.order.choose(0);
  it.order.keep_memory();
  CHECK(it.order.at(0).parts() > 0);
  CHECK(it.order.traffic().messages_sent == 0);
}
