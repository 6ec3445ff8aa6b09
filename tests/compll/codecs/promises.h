// SPDX-License-Identifier: Apache-2.0
//
// The promises of a codec: from its declarations, and from a table for those that have none. A codec that is in no
// table promises everything.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tests/compll/support/programs.h"

namespace casync::compll {

struct Promises {
  /// Range of the largest magnitude in which the codec's class holds and decoded elements are finite.
  double least = 0x1p-110, most = 3.4028234663852886e38;
  bool scales = true;       ///< D(E(2^k x)) = 2^k D(E(x))
  bool odd = true;          ///< D(E(-x)) = -D(E(x)) where no element is zero
  bool keeps_zeros = true;  ///< D(E(0)) = 0
  bool repeats = true;      ///< D(E(D(E(x)))) = D(E(x)), where no random numbers are drawn
  bool anywhere = true;     ///< in another order elements decode in that order; where blocks share something, blocks
  bool on_average = false;  ///< the class holds in the mean of many encodings; a single one may gain nothing
};

Promises promises_of(const std::string& name);

/// Returns true if x is zero or its largest magnitude is in the range of the promises.
bool holds_for(const Promises& promises, std::span<const float> x);

/// Returns true if the same input always has the same codes: the program draws no random numbers.
bool is_deterministic(const Written& written);

/// Number of neighbours that share a scale or the like: 1 where each element stands for itself, n where all share it.
Elements sharing(const Written& written, Elements n);

/// The bytes of a payload, from its sections.
Bytes size_of_sections(const Written& written, Elements n);

double norm_squared(std::span<const float> x);
std::vector<float> scaled(std::span<const float> x, float factor);

}  // namespace casync::compll
