// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/units.h"

namespace casync::compll {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A vector to encode, by what is special about it.
struct Input {
  std::string name;
  std::vector<float> values;
  bool finite = true;
};

/// The sizes at which codecs break: empty, odd, and around vectors, blocks and tiles.
std::vector<Elements> sizes();

/// n elements of each kind, the same in every run.
std::vector<Input> inputs(Elements n);

std::vector<float> gaussian(Elements n, std::uint32_t seed);
std::vector<float> laplace(Elements n, std::uint32_t seed);

}  // namespace casync::compll
