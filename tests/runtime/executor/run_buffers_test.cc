// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_buffers.h"

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/executor/bundle.h"
#include "tests/runtime/executor/one_rank.h"
#include "tests/runtime/executor/owner_graph.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using test::kContribution, test::kResult;

namespace {

/// The buffers of a gradient of its own.
struct Owned {
  explicit Owned(const std::string& codec) : codecs(test::codecs_of(codec)) { buffers.begin(); }

  const TaskGraph graph = test::owner_graph();
  const HopCodecs codecs;
  RunBuffers buffers{graph, codecs, nullptr, 0};
  std::vector<std::byte> memory = std::vector<std::byte>(4096);
  View view() { return {memory.data(), memory.size()}; }
};

}  // namespace

TEST_CASE("run buffers: memory of the arena goes back after the last task that uses it, and other memory never") {
  Owned one("int8");
  one.buffers.place(kResult, one.view(), true);
  CHECK(one.buffers.release(kResult).data == nullptr);  // it is made
  CHECK(one.buffers.release(kResult).data == nullptr);  // and sent
  const View back = one.buffers.release(kResult);       // and decoded
  CHECK(back.data == one.memory.data());
  CHECK(back.size == one.buffers.bound_of(kResult));
  CHECK(one.buffers.state(kResult).memory.data == nullptr);

  one.buffers.begin();
  one.buffers.place(kResult, one.view(), false);
  for (int use = 0; use < 3; ++use) CHECK(one.buffers.release(kResult).data == nullptr);
  CHECK(one.buffers.state(kResult).memory.data == one.memory.data());
}

TEST_CASE("run buffers: unfinished buffers of a step can be taken, with the memory of the arena") {
  Owned one("int8");
  CHECK(one.buffers.take(kContribution).data == nullptr);
  one.buffers.place(kContribution, one.view(), true);
  one.buffers.expect(kContribution, 12);
  CHECK(one.buffers.take(kContribution).data == one.memory.data());
  CHECK(one.buffers.state(kContribution).memory.data == nullptr);
  CHECK(one.buffers.state(kContribution).bytes == 0);
  one.buffers.place(kContribution, one.view(), false);
  CHECK(one.buffers.take(kContribution).data == nullptr);
}

TEST_CASE("run buffers: a payload from another rank is looked at once, and a step begins with none") {
  Owned one("int8");
  CHECK_FALSE(one.buffers.take_unchecked(kContribution));
  one.buffers.expect(kContribution, 12);
  one.buffers.receive(kContribution, false, true);
  CHECK(one.buffers.state(kContribution).bytes == 12);
  CHECK_FALSE(one.buffers.state(kContribution).finite);
  CHECK(one.buffers.take_unchecked(kContribution));
  CHECK_FALSE(one.buffers.take_unchecked(kContribution));
  one.buffers.make(kResult, 7, false);
  CHECK(one.buffers.state(kResult).bytes == 7);
  CHECK_FALSE(one.buffers.state(kResult).finite);
  one.buffers.begin();
  for (const BufferId buffer : {kContribution, kResult}) {
    CHECK(one.buffers.state(buffer).bytes == 0);
    CHECK(one.buffers.state(buffer).finite);
  }
}

TEST_CASE("run buffers: only payloads that are the elements and are not to be merged lie in the gradient") {
  Owned plain("none"), coded("int8");
  for (Owned* const one : {&plain, &coded}) {
    CHECK_FALSE(one->buffers.is_in_gradient(kResult));
    one->buffers.lie_in_gradient();
    CHECK_FALSE(one->buffers.is_in_gradient(kContribution));
    CHECK(one->buffers.is_in_gradient(kResult) == (one == &plain));
    one->buffers.leave_gradient();
    CHECK_FALSE(one->buffers.is_in_gradient(kResult));
  }
  CHECK(plain.buffers.bound_of(kResult) == 100 * sizeof(float));
}

TEST_CASE("run buffers: the buffers of a bundle have room for all of its gradients") {
  const auto weight = test::make_weight("weight", 2, 0), bias = test::make_weight("bias", 2, 0, 50);
  GradientRun* const members[] = {weight.get(), bias.get()};
  const Bundle bundle(members);
  const RunBuffers buffers(weight->graph, *weight->codecs, &bundle, 150);
  CHECK(buffers.elements_in(BufferId{0}) == 150);
  CHECK(buffers.bound_of(BufferId{0}) == bundle.bytes(buffers.of(BufferId{0}).hop));
  CHECK(buffers.bound_of(BufferId{0}) >= 150 * sizeof(float));
}
