// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/units.h"

namespace casync::tools {

/// A gradient that codecs are tried on.
struct Sample {
  enum class Kind {
    kOrdinary,
    kExtreme,    ///< at the ends of float's range, where sums and scales may leave it
    kNotFinite,  ///< NaN or infinity is in it
  };
  std::string name;
  std::vector<float> values;
  Kind kind = Kind::kOrdinary;
};

/// Sizes at which codecs break: empty, odd, and around vectors, blocks and tiles.
std::vector<Elements> sample_sizes();

/// n elements of each sort, the same in every run.
std::vector<Sample> samples(Elements n);

std::vector<float> gaussian_sample(Elements n, std::uint32_t seed);
std::vector<float> heavy_sample(Elements n, std::uint32_t seed);

}  // namespace casync::tools
