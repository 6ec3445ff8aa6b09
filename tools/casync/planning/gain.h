// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "casync/planner/search/search.h"

namespace casync::tools {

/// A step without compression, and one by the plan, as predicted.
struct Gain {
  double uncompressed_s = 0;  ///< with an exchange in every step: uncompressed_step_s()
  double planned_s = 0;
  bool compresses = false;      ///< the plan compresses a gradient
  double steps = 1;             ///< to the same loss, as a multiple of those without compression
  std::string mode = "";        ///< of the plan, as plan files have it; "": every step exchanges and waits
  bool mode_is_trained = true;  ///< trainings have measured what the mode costs in loss: `steps` has it

  double times() const { return uncompressed_s / planned_s; }
};
Gain gain_of(const PlanReport& report, double uncompressed_s);

/// "1.75 x: 488 ms a step uncompressed, 279 ms with this plan (predicted)"; with a mode "with this plan and
/// local_sgd { every: 4 }". The first line of `casync plan` and `casync explain`.
std::string text_of(const Gain& gain);

/// A sentence about the number of steps to the same loss; "" if nothing is compressed and every step exchanges.
std::string text_of_steps(const Gain& gain);

/// A sentence about the compared plan with the shortest step, if it would win by its step and loses by its number of
/// steps; else "".
std::string text_of_rejected(const PlanReport& report);

/// A sentence that names the codecs whose costs are assumed and not measured; "" without any.
std::string text_of_assumed(const std::vector<std::string>& codecs);

}  // namespace casync::tools
