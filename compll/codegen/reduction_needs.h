// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

/// A bool that is made of parameters and constants alone.
struct ParameterCondition {
  const Term* value = nullptr;
  bool holds = true;  ///< whether it has to be true, or false

  bool operator==(const ParameterCondition&) const = default;
};

/// The reductions to one element that nothing asks for unless a condition is as said: they are needed for one branch of
/// a choice only. A choice within a branch of another counts as one of the outer one. `terms` and `variables`: what is
/// wanted of the steps.
std::map<const Term*, ParameterCondition> reductions_needed_if(const std::vector<const Step*>& steps,
                                                               const std::vector<const Term*>& terms,
                                                               const std::vector<VariableId>& variables);

}  // namespace casync::compll
