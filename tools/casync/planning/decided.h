// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "casync/planner/search/methods.h"
#include "casync/planner/search/modes.h"
#include "tools/casync/planning/gain.h"
#include "tools/casync/planning/inputs.h"

namespace casync::tools {

/// A request's plan, in its mode or in one that the user allows, and the modes that would be better.
struct Decided {
  PlanRequest request;  ///< with the mode of the plan
  PlanReport report;
  Gain gain;                             ///< over the best uncompressed plan that exchanges in every step
  std::vector<ModePlan> better;          ///< than the plan, the best first: not allowed, so not taken
  std::vector<PublishedMethod> methods;  ///< next to it; filled in by its caller
};

/// Finds the plan. With inputs.allow_modes the best mode of those that trainings have measured is taken if it is better
/// than an exchange in every step. Errors as find_plan().
Result<Decided> decided_plan(const PlanInputs& inputs, PlanRequest request);

/// The same for a plan that there is, which has neither groups nor a credit: in its own mode, unless the request has
/// one. Nothing else is searched or proposed, and its step is that of `casync simulate`. Errors as step_of(),
/// simulate_within() and find_plan().
Result<Decided> given_plan(const Plan& plan, PlanRequest request);

/// The plan's decisions for the request's gradients, as a session carries them out. PlanError, naming the gradient: the
/// plan leaves it to the planner, or no session takes its codecs. Errors as check_session, in the request's mode.
Result<PlannedStep> step_of(const Plan& plan, const PlanRequest& request);

/// A sentence for the best mode of each kind that was not allowed: what it would gain, how it is asked for, and what it
/// changes.
std::vector<std::string> text_of_better(const Decided& decided);

/// A sentence for each method whose step is shorter by a hundredth than the plan's.
std::vector<std::string> text_of_shorter(const std::vector<PublishedMethod>& methods, const PlanReport& report);

/// The same of all better modes, as an array.
nlohmann::ordered_json json_of_better(const Decided& decided);

}  // namespace casync::tools
