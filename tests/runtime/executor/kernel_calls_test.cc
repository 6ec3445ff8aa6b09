// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/kernel_calls.h"

#include <catch2/catch.hpp>

#include "runtime/executor/task_runner.h"
#include "tests/runtime/executor/device_gradient.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::uint64_t kSeed = 5;
const KernelCalls kCalls({kSeed, 0.5f});

test::DeviceGradient gradient_of(const std::string& codec) {
  Choice choice;
  choice.codec = CodecChoice{codec, {}};
  return test::DeviceGradient(choice);
}

}  // namespace

TEST_CASE("kernel calls: an encode reads its slice, and what the codec keeps there, with this rank's numbers") {
  const test::DeviceGradient of = gradient_of("onebit");
  const GradientRun& run = *of.run;
  const Slice slice{100, 50};
  const KernelCall call = kCalls.encode(run, run.codec(Hop::kFirst), slice);
  CHECK(call.function == KernelFunction::kEncode);
  CHECK(call.n == 50);
  CHECK(call.in.address() == run.device.data().address() + 400);
  CHECK(call.kept_in.address() == run.kept.from(0).in.address() + 400);
  CHECK(call.kept_out.address() == run.kept.from(0).out.address() + 400);
  CHECK(call.kept_stride == run.elements);
  const auto context = context_of(run, run.codec(Hop::kFirst).info(), KeptBy::kEncode, slice, kSeed);
  CHECK(call.context.seed == context.seed);
  CHECK(call.context.seed != kSeed);
  CHECK(call.context.step == 3);
  CHECK(call.context.first == 100);
  const test::DeviceGradient plain = gradient_of("qsgd");  // keeps nothing
  CHECK(kCalls.encode(*plain.run, plain.run->codec(Hop::kFirst), slice).kept_in.is_null());
}

TEST_CASE("kernel calls: the last merge scales the sum, others do not") {
  const test::DeviceGradient of = gradient_of("int8");
  Merge merge = of.first<Merge>();
  merge.last = true;
  CHECK(kCalls.merge(*of.run, merge).scale == 0.5f);
  merge.last = false;
  const KernelCall call = kCalls.merge(*of.run, merge);
  CHECK(call.scale == 1);
  CHECK(call.function == KernelFunction::kMerge);
  CHECK(call.n == of.run->buffers.of(merge.to).slice.count);
}

TEST_CASE("kernel calls: a result is made with the numbers of all ranks, and a decode as it is told") {
  const test::DeviceGradient of = gradient_of("diana");
  const DeviceView floats(64, 200);
  const KernelCall result = kCalls.result(*of.run, {100, 50}, floats);
  CHECK(result.function == KernelFunction::kResult);
  CHECK(result.in.address() == 64);
  CHECK(result.out.address() == of.run->device.data().address() + 400);
  CHECK(result.context.seed == kSeed);
  CHECK_FALSE(result.kept_in.is_null());
  const KernelTerm term{{128, 100}, {}};
  const KernelCall decode = KernelCalls::decode({100, 50}, {&term, 1}, {floats, DType::kFloat16});
  CHECK(decode.function == KernelFunction::kDecode);
  CHECK(decode.n == 50);
  CHECK(decode.out.address() == 64);
  CHECK(decode.out_type == DType::kFloat16);
  CHECK(decode.terms.data() == &term);
}

TEST_CASE("kernel calls: a turn goes on from the state that the last committed step left") {
  const test::DeviceGradient of = gradient_of("powersgd");
  GradientRun& run = *of.run;
  const KeptState::Slices first = run.kept.from(0);
  REQUIRE(first.in.address() != first.out.address());
  for (const bool committed : {false, true}) {
    if (committed) run.kept.commit();
    const TurnCall call = kCalls.turn(run, 1);
    CHECK(call.number == 1);
    CHECK(call.rows == run.rounds->rows);
    CHECK(call.columns == run.rounds->columns);
    CHECK(call.kept_in.address() == (committed ? first.out : first.in).address());
    CHECK(call.kept_out.address() == (committed ? first.in : first.out).address());
    CHECK(call.scratch.address() == run.rounds->scratch()->device().address());
  }
}

TEST_CASE("kernel calls: a merge of the result has a state of its own, and a contribution that of its encode") {
  const test::DeviceGradient of = gradient_of("onebit");
  CHECK(kept_by_merge(*of.run, of.first<Merge>().to) == KeptBy::kMerge);
  CHECK(kept_by_merge(*of.run, of.first<Encode>().to) == KeptBy::kEncode);
  const KernelTerm term = own_term(*of.run, {100, 50});
  CHECK(term.raw.address() == of.run->device.data().address() + 400);
  CHECK(term.payload.is_null());
}
