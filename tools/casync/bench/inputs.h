// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/units.h"

namespace casync::tools {

/// The contribution of `rank`: nearly normal numbers, a function of (rank, position), so that every rank can compute
/// every other's.
std::vector<float> make_input(Rank rank, Elements count);

/// The average in the order in which owners merge: ranks 0, 1, ... added one by one, then scaled. Bit for bit the
/// result of strategy ps with codec none.
std::vector<float> plain_average(int ranks, Elements count);

/// The number of elements that differ in any bit.
Elements count_different(std::span<const float> got, std::span<const float> expected);

/// Sum of squared differences over the sum of squares of `exact`.
double normalized_error(std::span<const float> got, std::span<const float> exact);

}  // namespace casync::tools
