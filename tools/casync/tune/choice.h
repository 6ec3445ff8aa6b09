// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tools/casync/tune/result.h"

namespace casync::tools {

enum class TuneGoal {
  kLoss,  ///< the least time to the same loss: a step's time times the steps
  kStep,  ///< the least time of a step
};

/// Returns the names of ways whose times one run each does not tell from the best: those within 15 % of it. None if
/// only one way is.
std::vector<std::string> contested_ways(const std::vector<TunedWay>& ways, TuneGoal goal);

/// Returns the way to use: the first of kUncompressed, kPlanned and the best way that no other beats by more than 3 %.
/// With kLoss a way without `steps` is never chosen. `ways` has kUncompressed and kPlanned.
const TunedWay& chosen_way(const std::vector<TunedWay>& ways, TuneGoal goal);

/// Returns a sentence that says how much `chosen`, the way that chosen_way() returns, gains.
std::string gain_of(const std::vector<TunedWay>& ways, const TunedWay& chosen, TuneGoal goal);

/// Returns the line that says what to do with the plan file and the report. The variable is a word of a shell.
std::string use_of(const std::string& plan, const std::string& report);

/// Returns the plan file of `chosen`: `planned`, or one codec for all gradients, with a comment that says why.
/// Errors as text_of_plan.
Result<std::string> plan_text_of(const std::vector<TunedWay>& ways, const TunedWay& chosen, TuneGoal goal,
                                 const std::string& planned);

}  // namespace casync::tools
