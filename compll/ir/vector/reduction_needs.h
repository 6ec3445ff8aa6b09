// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

/// A bool that is made of parameters and constants only.
struct ParameterCondition {
  const Term* value = nullptr;
  bool holds = true;  ///< true: the value has to be true; false: it has to be false

  bool operator==(const ParameterCondition&) const = default;
};

/// The reductions to one element that are not needed unless a condition holds, as only one branch of a choice needs
/// them. A choice within a branch of another one counts as part of the outer one. `terms` and `variables`: the wanted
/// results of the steps.
std::map<const Term*, ParameterCondition> reductions_needed_if(const std::vector<const Step*>& steps,
                                                               const std::vector<const Term*>& terms,
                                                               const std::vector<VariableId>& variables);

}  // namespace casync::compll
