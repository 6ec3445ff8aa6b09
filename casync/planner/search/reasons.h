// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "casync/planner/search/evaluator.h"

namespace casync {

/// The reasons for each gradient, as a line for a comment: predicted milliseconds, what decided, and for a recorded one
/// the loss of its codecs on each hop (squared error over squared values).
std::vector<std::string> reasons(Evaluator& evaluator, const PlannedStep& step, const Simulation& simulation);

/// The text of a plan with a comment after each line that begins a gradient, in their order, and lines above all.
std::string with_comments(const std::string& plan_text, const std::vector<std::string>& head,
                          std::span<const std::string> of_gradients);
/// The same after each line that begins a rule, and the last of them after that of the default.
std::string with_rule_comments(const std::string& plan_text, const std::vector<std::string>& head,
                               std::span<const std::string> of_rules);

/// "int4, int8 back, ps, 8 partitions".
std::string text_of(const Decision& decision);
/// "1.25 ms", "12.5 us".
std::string text_of_seconds(double seconds);

}  // namespace casync
