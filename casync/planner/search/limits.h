// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "casync/planner/search/request.h"

namespace casync {

/// As a budget: whatever is named may be used.
inline constexpr double kAnyError = std::numeric_limits<double>::infinity();

/// What there is to choose from.
struct Offers {
  std::vector<CodecOffer> codecs;
  std::size_t for_all = 0;  ///< the first so many may be used wherever they are within max_error; the others are named
  double max_error = kAnyError;  ///< for gradients of whose codec nothing is said
};

/// What a plan's default, rules and entries ask of whoever completes it, by position in training.gradients. Strategy,
/// partitions, priority and warm-up are fixed where they say one.
std::vector<Limits> limits_of(const Plan& rules, const Training& training, int ranks, const Offers& offers);

/// InvalidArgument: limits of more or fewer gradients than there are.
Status check_limits(const PlanRequest& request);

/// Whether somebody else's decision is within `limits`, whose offers are positions in `codecs`.
bool allows(const Limits& limits, const std::vector<CodecOffer>& codecs, const Decision& decision);

}  // namespace casync
