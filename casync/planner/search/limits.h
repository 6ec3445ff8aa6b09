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

/// Whether a ring or a tree may merge codes of `codec`, whose traits these are, again at each hop: what gradient `at`
/// loses on its way to the owner is then no more than it may lose on a hop, or than kUnsaidError where nobody says how
/// much that is. Always where that loses no more than one encoding, or where the strategy is fixed and no budget is.
bool may_merge_again(const PlanRequest& request, const Limits& limits, std::size_t at, const CodecChoice& codec,
                     const CodecTraits& traits, StrategyKind strategy);
inline constexpr double kUnsaidError = 0.03;

/// Whether somebody else's decision is within `limits`, whose offers are positions in `codecs`.
bool allows(const Limits& limits, const std::vector<CodecOffer>& codecs, const Decision& decision);

}  // namespace casync
