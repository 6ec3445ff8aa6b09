// SPDX-License-Identifier: Apache-2.0
//
// Launches of a gradient's tasks, wherever they are queued.
#include "runtime/executor/kernel_queue.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/device_gradient.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Notes what is launched and copied. Vectors lie at 1 MiB, 2 MiB, ...
class Noting final : public KernelQueue {
 public:
  explicit Noting(const test::DeviceGradient& of) : KernelQueue(of.kernels, {5, 0.5f}) {}

  using KernelQueue::are_alike;
  using KernelQueue::begin_merge;
  using KernelQueue::calls;
  using KernelQueue::decoded;
  using KernelQueue::end_decode;
  using KernelQueue::launch_keeping;
  using KernelQueue::turn;

  std::vector<KernelCall> launched;
  std::vector<TurnCall> turns;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> copied;  ///< from, to
  DeviceView kept;
  std::uint64_t vectors = 0;

 private:
  DeviceView take_vector(Bytes bytes) override { return {++vectors << 20, bytes}; }
  Status copy(DeviceView from, DeviceView to) override {
    CHECK(from.size() == to.size());
    copied.emplace_back(from.address(), to.address());
    return Status::ok();
  }
  void note_kept(DeviceView copy) override { kept = copy; }
  Status queue(CodecKernels&, std::span<const KernelCall> batch) override {
    launched.insert(launched.end(), batch.begin(), batch.end());
    return Status::ok();
  }
  Status queue(TurnKernels&, const TurnCall& call) override {
    turns.push_back(call);
    return Status::ok();
  }
};

constexpr std::uint64_t kMiB = 1 << 20;

Choice choice_of(const std::string& codec) {
  Choice choice;
  choice.codec = CodecChoice{codec, {}};
  return choice;
}

/// Launches the first encode of a gradient with this memory of residuals.
struct Encoded {
  explicit Encoded(ResidualMemory memory) : of(with(memory)), noted(of) {
    const compll::Codec& codec = of.run->codec(Hop::kFirst);
    call = noted.calls().encode(*of.run, codec, {100, 50});
    REQUIRE(noted.launch_keeping(*of.run, codec, call));
  }
  static Choice with(ResidualMemory memory) {
    Choice choice = choice_of("onebit");
    choice.residual_memory = memory;
    return choice;
  }

  test::DeviceGradient of;
  Noting noted;
  KernelCall call;
};

}  // namespace

TEST_CASE("kernel queue: a kernel reads one of a residual's two buffers and writes the other") {
  const Encoded it(ResidualMemory::kTwoBuffers);
  REQUIRE(it.noted.launched.size() == 1);
  CHECK(it.noted.launched[0].kept_in.address() == it.call.kept_in.address());
  CHECK(it.noted.launched[0].kept_out.address() == it.call.kept_out.address());
  CHECK(it.noted.copied.empty());
}

TEST_CASE("kernel queue: a residual in one buffer is copied first, and the copy is told") {
  const Encoded it(ResidualMemory::kOneBuffer);
  REQUIRE(it.noted.launched.size() == 1);
  CHECK(it.call.kept_in.address() == it.call.kept_out.address());
  REQUIRE(it.noted.copied.size() == 1);
  CHECK(it.noted.copied[0] == std::pair(it.call.kept_in.address(), kMiB));
  CHECK(it.noted.launched[0].kept_in.address() == kMiB);
  CHECK(it.noted.launched[0].kept_out.address() == it.call.kept_out.address());
  CHECK(it.noted.kept.address() == kMiB);
}

TEST_CASE("kernel queue: a residual of bfloat16 is widened first, and what is left is rounded") {
  const Encoded it(ResidualMemory::kBFloat16);
  REQUIRE(it.noted.launched.size() == 3);
  CHECK(it.noted.launched[0].function == KernelFunction::kDecode);
  CHECK(it.noted.launched[1].function == KernelFunction::kEncode);
  CHECK(it.noted.launched[1].kept_in.address() == it.noted.launched[0].out.address());
  CHECK(it.noted.launched[2].function == KernelFunction::kEncode);
  CHECK(it.noted.launched[2].in.address() == it.noted.launched[1].kept_out.address());
  REQUIRE(it.noted.copied.size() == 2);
  CHECK(it.noted.copied[0].first == it.call.kept_in.address());
  CHECK(it.noted.copied[1].second == it.call.kept_out.address());
}

TEST_CASE("kernel queue: codes of another codec are added ahead of the call that encodes the sum") {
  Choice choice = choice_of("int8");
  for (const bool alike : {true, false}) {
    choice.second_hop = CodecChoice{alike ? "int8" : "int4", {}};
    const test::DeviceGradient of(choice);
    Noting noted(of);
    const compll::Codec& in = of.run->codec(Hop::kFirst);
    CHECK(noted.are_alike(in, of.run->codec(Hop::kSecond)) == alike);
    const KernelTerm terms[] = {{{64, 32}, {}}, own_term(*of.run, {0, 100})};
    KernelCall call;
    REQUIRE(noted.begin_merge(*of.run, of.first<Merge>(), terms, &in, {}, &call));
    if (alike) {
      CHECK(noted.launched.empty());
      CHECK(call.function == KernelFunction::kMerge);
      CHECK(call.terms.size() == 2);
      CHECK(call.out.address() == kMiB);
    } else {
      REQUIRE(noted.launched.size() == 1);
      CHECK(noted.launched[0].function == KernelFunction::kDecode);
      CHECK(noted.launched[0].terms.size() == 2);
      CHECK(noted.launched[0].out.address() == kMiB);
      CHECK(call.function == KernelFunction::kEncodeSum);
      CHECK(call.in.address() == kMiB);
    }
  }
}

TEST_CASE("kernel queue: a decoded slice lies in the gradient, where the codec's result is made of it") {
  const test::DeviceGradient plain(choice_of("int8")), diana(choice_of("diana"));
  for (const test::DeviceGradient* of : {&plain, &diana}) {
    Noting noted(*of);
    const DecodedSlice slice = noted.decoded(*of->run, {100, 50});
    CHECK(slice.memory.address() == of->run->device.data().address() + 400);
    REQUIRE(noted.end_decode(*of->run, {100, 50}, slice));
    CHECK(noted.launched.size() == (of == &plain ? 0 : 1));
  }
}

TEST_CASE("kernel queue: the last turn makes the result") {
  const test::DeviceGradient of(choice_of("powersgd"));
  Noting noted(of);
  const auto last = static_cast<std::uint32_t>(of.run->rounds->exchanges().size());
  for (std::uint32_t number = 0; number <= last; ++number) REQUIRE(noted.turn(*of.run, number));
  REQUIRE(noted.turns.size() == last + 1);
  CHECK(noted.turns[0].out.is_null());
  CHECK(noted.turns[last].gradient.address() == of.run->device.data().address());
  CHECK(noted.turns[last].out.address() == of.run->device.data().address());
  CHECK(noted.turns[last].exchanged.size() == last);
}
