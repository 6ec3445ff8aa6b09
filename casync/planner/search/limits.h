// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "casync/planner/search/request.h"

namespace casync {

/// The budget that lets every named codec be used.
inline constexpr double kAnyError = std::numeric_limits<double>::infinity();

/// The codecs that the planner may choose from.
struct Offers {
  std::vector<CodecOffer> codecs;
  std::size_t for_all = 0;       ///< the first so many may be used for all within max_error; the others only by name
  double max_error = kAnyError;  ///< for gradients of whose codec nothing is said
};

/// The limits that a plan's default, rules and entries set for a planner, by position in training.gradients. Strategy,
/// partitions, priority, warm-up and servers are fixed if they are set; servers fix strategy `ps`.
std::vector<Limits> limits_of(const Plan& rules, const Training& training, int ranks, const Offers& offers);

/// PlanError: a mode for which no plan is searched, since no training has measured what it costs in loss: gossip,
/// asynchronous.
Status check_searched_mode(const SyncMode& mode);

/// InvalidArgument: limits of more or fewer gradients than there are. PlanError, naming the gradient: as check_servers.
Status check_limits(const PlanRequest& request);

/// Returns true if a ring or tree may merge codes of `codec`, which has `traits`, again at each hop: gradient `at` then
/// loses no more on its way to the owner than its limit for one hop, or kUnsaidError if no limit is set. Always true if
/// that loses no more than one encoding, or if the strategy is fixed and no budget is.
bool may_merge_again(const PlanRequest& request, const Limits& limits, std::size_t at, const CodecChoice& codec,
                     const CodecTraits& traits, StrategyKind strategy);
inline constexpr double kUnsaidError = 0.03;

/// Returns true if another decision is within `limits`, whose offers are positions in `codecs`.
bool allows(const Limits& limits, const std::vector<CodecOffer>& codecs, const Decision& decision);

}  // namespace casync
