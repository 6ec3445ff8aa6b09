// SPDX-License-Identifier: Apache-2.0
//
// The part of a launch that is the same for all kinds of codecs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

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

/// A launch for one segment; sets the segment's inputs of random numbers.
inline cuda::Launch launch_of(cuda::Segment& segment, const EncodeContext& context, const cuda::Settings& settings) {
  segment.gradient = context.gradient;
  segment.first = context.first;
  cuda::Launch launch;
  launch.segment_count = 1;
  launch.step = context.step;
  launch.seed = context.seed;
  launch.codec = settings;
  return launch;
}

}  // namespace casync::compll
