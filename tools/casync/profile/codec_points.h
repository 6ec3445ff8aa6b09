// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "casync/simulator/curve.h"
#include "tools/casync/profile/measure.h"

namespace casync::tools {

/// Codes that are merged with a rank's own elements, in the two merges that are measured.
inline constexpr std::size_t kFewMerged = 1, kManyMerged = 4;

/// Seconds of a codec's functions by elements. All lists have the same sizes.
struct CodecPoints {
  std::vector<Curve::Point> encode, decode;  ///< empty for an identity
  std::vector<Curve::Point> few, many;       ///< merges of kFewMerged and of kManyMerged codes
};

/// Fits a curve of at most `most` points, and notes what was measured and how far the curve is off.
Curve fitted(MeasuredProfile& made, const std::string& what, std::vector<Curve::Point> points, std::size_t most = 8);

/// Puts the codec's curves into the profile. The cost of a merge, per code and fixed, follows from both measured
/// merges.
void add_codec(MeasuredProfile& made, const std::string& name, CodecPoints points);

}  // namespace casync::tools
