// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compll/codec/codec.h"

namespace casync::compll {

/// The output that a codec has to produce, by plain loops over docs/payloads.md and support/reference.
struct Expected {
  std::vector<std::byte> payload;
  std::vector<float> residual;
  bool finite = true;
};

/// p encoded by the codec with this description.
Expected reference_encode(const CodecInfo& info, std::span<const float> p);

}  // namespace casync::compll
