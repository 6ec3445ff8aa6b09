// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "casync/planner/search/search.h"
#include "casync/simulator/utility_model.h"

namespace casync {

/// A step by its terms, without compression and with it: as simulated, and by the closed form of utility_model.h.
struct WholeStep {
  struct Side {
    PlannedStep step;
    Simulation simulation;
    double latency_s = 0;  ///< by which the simulated step would be shorter if no link had a latency
    double hidden_s = 0;   ///< the part of simulated encode, merge, decode, wire and latency that adds no time
    double bytes = 0;      ///< of all gradients, as they are sent: the mean of both hops
    UtilityStep closed_form;
  };
  Side plain;       ///< the best plan that compresses nothing
  Side compressed;  ///< the best plan within the request
  /// Bytes per second of the slowest link below which a step with compression is shorter by a hundredth: empty where it
  /// is not at kSlowestBandwidth, kFastestBandwidth where it is even there.
  std::optional<double> pays_below, closed_form_pays_below;
  double enough = 1;  ///< enough_compression() by the closed form
};

/// Both plans are found by find_plan(), at each bandwidth anew. By the closed form, codes of both hops are what `ps`
/// moves with one owner for each gradient; encoding and merging count as encode. Errors as find_plan().
Result<WholeStep> whole_step(const PlanRequest& request);

/// Bytes per second of the slowest link below which the best plan within the request makes a step shorter by a
/// hundredth than the best one that compresses nothing, to 7 %: empty and kFastestBandwidth as WholeStep::pays_below.
/// Errors as find_plan().
Result<std::optional<double>> compression_pays_below(const PlanRequest& request);

/// Seconds of a step that compresses nothing and exchanges all of it, by the best of the reference plans called plain:
/// those in `report`, which find_plan() made for `request`. If it has none, or if the request has a mode or fixes
/// codecs, which hold for these plans as well, they are made anew without. Errors as find_plan().
Result<double> uncompressed_step_s(const PlanRequest& request, const PlanReport& report);

}  // namespace casync
