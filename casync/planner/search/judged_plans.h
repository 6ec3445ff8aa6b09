// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "casync/planner/search/evaluator.h"
#include "casync/planner/search/gradient_classes.h"
#include "casync/planner/search/search.h"

namespace casync {

/// Compares plans by the simulator that is the judge (Evaluator::judge), and keeps the best. Errors as that.
class JudgedPlans {
 public:
  /// Borrows the evaluator.
  explicit JudgedPlans(Evaluator& evaluator) : request_(evaluator.request()), evaluator_(evaluator) {}

  /// Returns false for a plan with a pair of codecs that no gradient may have: it is only compared with.
  bool is_eligible(const PlannedStep& step) const;
  /// Compares the found plan, with other fusions, the plan `before` it was made simpler, and all references.
  Status compare(PlannedStep found, const PlannedStep& before, const std::vector<PlannedStep>& references);
  /// Decides sizes anew with all ranks simulated, largest first: one rank that stands for all may hide differences.
  Status refine(const GradientClasses& classes);

  /// The best plan so far, and the references.
  const PlanReport& report() const { return report_; }

 private:
  Status judge(const PlannedStep& step, bool reference);

  const PlanRequest& request_;
  Evaluator& evaluator_;
  bool all_ranks_ = true;  ///< the judge simulates all ranks
  PlanReport report_;
};

}  // namespace casync
