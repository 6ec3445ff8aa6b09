// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/gradient_memory.h"

#include <algorithm>
#include <cstring>

#include "tools/casync/bench/inputs.h"

namespace casync::tools {
namespace {

constexpr Elements kPattern = Elements{1} << 18;  // float32 that stays in a cache

/// Sign and upper mantissa of a number near one: finite and ordinary, as float16 and as bfloat16.
std::uint16_t half_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(0x3000 | (bits >> 16 & 0x807f));
}

}  // namespace

GradientMemory::GradientMemory(const Training& training, Rank rank)
    : training_(training), pattern_(make_input(rank, kPattern)) {
  Bytes all = 0;
  for (const TrainedGradient& gradient : training.gradients) {
    places_.push_back(all);
    all += (gradient.spec.bytes() + 63) / 64 * 64;
  }
  bytes_ = std::make_unique_for_overwrite<std::byte[]>(all);
  for (const float value : pattern_) halves_.push_back(half_of(value));
}

View GradientMemory::view(std::size_t gradient) const {
  return {bytes_.get() + places_[gradient], training_.gradients[gradient].spec.bytes()};
}

void GradientMemory::fill() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const bool whole = training_.gradients[i].spec.dtype == DType::kFloat32;
    const auto* from = whole ? reinterpret_cast<const std::byte*>(pattern_.data())
                             : reinterpret_cast<const std::byte*>(halves_.data());
    const Bytes size = whole ? kPattern * sizeof(float) : kPattern * sizeof(std::uint16_t);
    const View to = view(i);
    for (Bytes done = 0; done < to.size; done += size) {
      std::memcpy(to.data + done, from, std::min(size, to.size - done));
    }
  }
}

}  // namespace casync::tools
