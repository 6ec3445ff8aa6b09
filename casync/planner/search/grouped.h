// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "casync/model/plan.h"
#include "casync/simulator/training.h"

namespace casync {

/// A training in which each of a plan's groups is one gradient.
struct GroupedTraining {
  Training training;                ///< with groups: the gradients in the order in which they are ready
  std::vector<std::string> absent;  ///< groups that have no gradient of the training
};

/// A group has those of its members that the training has. It is ready with its last one, and needed with its first
/// one. PlanError: a group has gradients of different types, or the name of a gradient outside of it.
Result<GroupedTraining> grouped(const Plan& plan, const Training& training);

}  // namespace casync
