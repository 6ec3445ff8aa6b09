// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/kept_state.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "compll/codec/registry.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_view.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr Elements kCount = 100;

std::unique_ptr<compll::Codec> codec_of(const std::string& name) {
  return std::move(compll::make_codec(name, {})).value();
}

/// The residual that `int8` keeps of a gradient.
struct Kept {
  explicit Kept(ResidualMemory memory = ResidualMemory::kTwoBuffers)
      : state(codec->info(), codec->info(), kCount, memory) {
    REQUIRE(state.allocate(*device).is_ok());
    REQUIRE(state.reset(*device).is_ok());
  }
  std::vector<float> read() const {
    std::vector<float> floats(state.floats());
    REQUIRE(state.read(*device, floats).is_ok());
    return floats;
  }
  /// The step writes these.
  void step(float value) const {
    const DeviceView out = state.from(0).out;
    std::fill_n(reinterpret_cast<float*>(host_view(out).data), kCount, value);
  }

  const std::unique_ptr<Device> device = make_host_device();
  const std::unique_ptr<compll::Codec> codec = codec_of("int8");
  KeptState state;
};

}  // namespace

TEST_CASE("kept state: the writes of a step count once the step is committed") {
  Kept kept;
  CHECK(kept.state.floats() == kCount);
  CHECK(kept.state.is_residual());
  CHECK(kept.read() == std::vector<float>(kCount, 0));
  kept.step(1);
  CHECK(kept.read() == std::vector<float>(kCount, 0));
  kept.state.commit();
  CHECK(kept.read() == std::vector<float>(kCount, 1));
  kept.step(2);
  kept.step(3);  // the one above was not finite, and is not committed
  kept.state.commit();
  CHECK(kept.read() == std::vector<float>(kCount, 3));
  REQUIRE(kept.state.reset(*kept.device).is_ok());
  CHECK(kept.read() == std::vector<float>(kCount, 0));
}

TEST_CASE("kept state: one buffer is the same ahead of a step and in it, and bfloat16 takes two bytes of each float") {
  const Kept one(ResidualMemory::kOneBuffer), two(ResidualMemory::kTwoBuffers);
  CHECK(one.state.from(0).in.address() == one.state.from(0).out.address());
  CHECK(two.state.from(0).in.address() != two.state.from(0).out.address());
  Kept half(ResidualMemory::kBFloat16);
  CHECK(half.state.type() == DType::kBFloat16);
  CHECK(half.state.bytes() == 2 * kCount);
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);  // exact in 8 bits
  REQUIRE(half.state.write(*half.device, values).is_ok());
  CHECK(half.read() == values);
}

TEST_CASE("kept state: a slice is a part of the array of its use") {
  const std::unique_ptr<compll::Codec> residual = codec_of("int8"), none = codec_of("none");
  Kept kept;
  const KeptState::Slices slice = kept.state.of(*residual, KeptBy::kEncode, {10, 5});
  CHECK(slice.in.address() == kept.state.from(0).in.address() + 10 * sizeof(float));
  CHECK(slice.out.address() == kept.state.from(0).out.address() + 10 * sizeof(float));
  CHECK(slice.stride == kCount);
  CHECK(kept.state.of(*none, KeptBy::kEncode, {10, 5}).in.is_null());
}

TEST_CASE("kept state: one that shares has what the other keeps, and follows its commits") {
  Kept kept;
  const std::unique_ptr<compll::Codec> codec = codec_of("int8");
  KeptState stage(codec->info(), codec->info(), kCount, ResidualMemory::kTwoBuffers);
  CHECK(stage.is_like(kept.state));
  CHECK_FALSE(stage.shares());
  stage.share(kept.state);
  CHECK(stage.shares());
  for (int step = 0; step < 2; ++step) {
    CHECK(stage.of(*codec, KeptBy::kEncode, {3, 4}).in.address() ==
          kept.state.of(*codec, KeptBy::kEncode, {3, 4}).in.address());
    kept.state.commit();
  }
  const KeptState shorter(codec->info(), codec->info(), kCount - 1, ResidualMemory::kTwoBuffers);
  CHECK_FALSE(shorter.is_like(kept.state));
}

TEST_CASE("kept state: copies change in place, and a codec of rounds keeps floats in no arrays") {
  const std::unique_ptr<Device> device = make_host_device();
  const std::unique_ptr<compll::Codec> none = codec_of("none");
  KeptState copies(none->info(), none->info(), kCount, ResidualMemory::kTwoBuffers);
  CHECK(copies.floats() == 0);
  copies.keep_copies(3);
  CHECK(copies.is_in_place());
  CHECK(copies.floats() == 3 * kCount);
  REQUIRE(copies.allocate(*device).is_ok());
  CHECK(copies.from(0).in.address() == copies.from(0).out.address());

  KeptState rounds(none->info(), none->info(), kCount, ResidualMemory::kTwoBuffers, 7);
  CHECK(rounds.floats() == 7);
  CHECK(rounds.is_residual());
  REQUIRE(rounds.allocate(*device).is_ok());
  REQUIRE(rounds.reset(*device).is_ok());
  std::vector<float> floats(7, 1);
  REQUIRE(rounds.read(*device, floats).is_ok());
  CHECK(floats == std::vector<float>(7, 0));
}

TEST_CASE("kept state: pieces of a block lie where they are told") {
  Kept kept;
  const std::unique_ptr<compll::Codec> codec = codec_of("int8");
  std::shared_ptr<DeviceBuffer> block = std::move(kept.device->allocate(4096, Memory::kDevice)).value();
  const std::uint64_t begin = block->device().address();
  KeptState state(codec->info(), codec->info(), kCount, ResidualMemory::kTwoBuffers);
  state.lie_in(std::move(block), 512, 2048);
  CHECK(state.from(0).in.address() == begin + 512);
  CHECK(state.from(0).out.address() == begin + 512 + 2048);
}
