// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "casync/planner/search/search.h"

namespace casync {

/// A mode of synchronization that a plan may have instead of exchanging in every step.
struct ModeOffer {
  SyncMode mode;
  double more_steps = 0;  ///< to the same loss, as a share of the steps without the mode
};

/// The plan found for a mode.
struct ModePlan {
  SyncMode mode;
  PlanReport report;  ///< its `steps` are those that codecs need, without the mode's
  double steps =
      1;  ///< to the same loss, as a multiple of those uncompressed in every step: the mode's times the codecs'

  /// Seconds of a step times the number of steps.
  double cost_s() const { return steps * report.simulation.step_s; }
};

/// The plans for those of `offers` whose product of a step's time and the number of steps is smaller by a hundredth
/// than that of `bulk`, the plan found for `request`; the smallest first, of equal ones the earlier offer. An offer is
/// left out unsearched if its steps would be too many even if no exchange took time, if it needs more than
/// `most_more_steps`, and if the request's rules have a codec that goes on from another parameter (`warm_up_from`),
/// which local SGD refuses. Nothing if the request has a mode already, or no number of steps (`more_steps`), or a
/// scattered gradient, which every mode refuses. Errors as find_plan().
Result<std::vector<ModePlan>> better_modes(const PlanRequest& request, const PlanReport& bulk,
                                           const std::vector<ModeOffer>& offers);

}  // namespace casync
