// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "casync/model/plan.h"

namespace casync {

/// The fault of a plan's group, or of an entry because of the groups.
struct GroupFault {
  bool is_of_entry = false;
  std::size_t at = 0;  ///< in Plan::groups or Plan::gradients
  std::string text;    ///< what is there, and what was expected
};

/// The faults of a plan's groups, at most one of each: names that are missing, or that stand twice; limits for the
/// planner, which chooses for single gradients; entries of gradients that are in a group, or of a group.
std::vector<GroupFault> faults_of_groups(const Plan& plan);

}  // namespace casync
