// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/bundle.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Two small gradients, and the run that stands for both.
struct Two {
  std::unique_ptr<GradientRun> weight = test::make_weight("weight", 2, 0), bias = test::make_weight("bias", 2, 0, 50);
  GradientRun* members[2] = {weight.get(), bias.get()};
  GradientRun run{members};
  Bundle& bundle = *run.parts;
};

}  // namespace

TEST_CASE("bundle: members have their seats, and parts at multiples of 16 that do not overlap") {
  Two two;
  CHECK(two.weight->seat.bundle() == &two.run);
  CHECK(two.bias->seat.place() == 1);
  CHECK(&two.run.part(1) == two.bias.get());
  CHECK(two.run.part_slice(1, {0, 150}) == Slice{0, 50});
  std::vector<std::byte> memory(two.bundle.bytes(Hop::kFirst));
  const View all{memory.data(), memory.size()};
  Bytes end = bundle_head_bytes(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const View part = two.bundle.part(all, Hop::kFirst, i);
    CHECK(part.data >= memory.data() + end);
    CHECK((part.data - memory.data()) % 16 == 0);
    CHECK(part.size == two.members[i]->elements * sizeof(float));
    CHECK(two.bundle.entries(Hop::kFirst)[i].key == two.members[i]->key);
    end = static_cast<Bytes>(part.data - memory.data()) + part.size;
  }
  CHECK(end <= memory.size());
  two.bias->seat.leave();
  CHECK(two.bias->seat.bundle() == nullptr);
}

TEST_CASE("bundle: it begins as a whole where a batch of starts has all members") {
  Two two;
  std::vector<std::byte> data(4);
  CHECK(two.bundle.offer(1, {data.data(), data.size()}, 6));
  CHECK_FALSE(two.bundle.take_offer());
  CHECK(two.bundle.offer(1, {data.data(), data.size()}, 7));  // another batch
  CHECK_FALSE(two.bundle.offer(0, {}, 7));
  CHECK(two.bundle.offered_step() == 7);
  CHECK(two.bundle.members()[1].data.data == data.data());
  CHECK(two.bundle.take_offer());
  CHECK_FALSE(two.bundle.take_offer());
}

TEST_CASE("bundle: members that begin one by one do so for their step") {
  Two two;
  CHECK_FALSE(two.bundle.has_begun_alone(0));
  two.bundle.begin_alone(3);
  CHECK(two.bundle.has_begun_alone(3));
  CHECK_FALSE(two.bundle.has_begun_alone(2));
  CHECK_FALSE(two.bundle.has_begun_alone(4));
}

TEST_CASE("bundle: sends are out until they are reported, and have begun until the next step") {
  Two two;
  CHECK_FALSE(two.bundle.has_begun_sends());
  two.bundle.begin_send();
  two.bundle.begin_send();
  two.bundle.end_send();
  CHECK(two.bundle.has_sends_out());
  two.bundle.end_send();
  CHECK_FALSE(two.bundle.has_sends_out());
  CHECK(two.bundle.has_begun_sends());
  two.run.begin(1, {});
  CHECK_FALSE(two.bundle.has_begun_sends());
}
