// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "casync/planner/search/evaluator.h"

namespace casync {

/// Everything that may happen to gradient `at` within its limits: codecs on both hops (the same, or a finer one back),
/// strategies that can carry them, partitions by powers of two and multiples of the ranks. Not compressed comes first.
/// Errors as Evaluator::option, of a codec that is not known; PlanError: what is fixed does not go together.
Result<std::vector<const Option*>> all_options(Evaluator& evaluator, std::size_t at);

/// `decision` where `options` (all_options of gradient `at`) have its codecs and strategy, else with those of the
/// nearest that they have. Priority and number of partitions are the decision's own, unless they are fixed.
Decision nearest_within(const Limits& limits, const std::vector<const Option*>& options, Decision decision);

/// The members of `options` that are cheapest for some price of the ports' and the codec's time and of additional
/// steps, in seconds of a step of `step_s`: from prices at which only the gradient's own time counts to prices at which
/// only the delay of all others counts. In the order of `options`.
std::vector<const Option*> worthwhile(const std::vector<const Option*>& options, double step_s);

/// Prices of a second of a busy port, of a codec or processors busy with messages, and of as many steps again, in
/// seconds of delay.
struct Prices {
  double port = 0;
  double codec = 0;
  double steps = 0;
};
/// `step_s` 0: the number of steps has no price.
std::vector<Prices> price_grid(double step_s);
const Option* cheapest(const std::vector<const Option*>& options, const Prices& prices);

bool compresses(const Decision& decision);

}  // namespace casync
