// SPDX-License-Identifier: Apache-2.0
//
// The part of a launch that is the same for all kinds of codecs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "compll/codec/codec.h"
#include "compll/codec/payload.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

inline cuda::Settings settings_of(const CodecInfo& info) {
  cuda::Settings settings;
  std::copy_n(info.values.begin(), std::min<std::size_t>(info.values.size(), cuda::kMostParameters),
              settings.parameters);
  settings.block = static_cast<std::uint32_t>(info.block);
  settings.log2_block = static_cast<std::uint32_t>(std::countr_zero(settings.block));
  settings.program = fingerprint_of(info.digest);
  return settings;
}

/// Sets the inputs of random numbers that a segment has for itself.
inline void give_numbers(cuda::Segment& segment, const EncodeContext& context) {
  segment.gradient = context.gradient;
  segment.first = context.first;
}

/// A launch for `count` segments.
inline cuda::Launch launch_of(std::size_t count, const EncodeContext& context, const cuda::Settings& settings) {
  cuda::Launch launch;
  launch.segment_count = static_cast<std::uint32_t>(count);
  launch.step = context.step;
  launch.seed = context.seed;
  launch.codec = settings;
  return launch;
}

}  // namespace casync::compll
