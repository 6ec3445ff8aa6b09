// SPDX-License-Identifier: Apache-2.0
//
// The plans of operators that make arrays in memory, in vector form on a GPU: their stages, and their memory. They
// lie in compll/ir/operators, beside those of the same operators for other targets.
#pragma once

#include <optional>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

struct Staging;

// For each COMPLL_ARRAY of operators.def a function that plans its array; `id`: the variable that it is given to.
#define COMPLL_ARRAY(operation, word, ...) \
  Id plan_##word(Staging& staging, const Term& term, const std::string& name, std::optional<VariableId> id);
#define COMPLL_VECTOR(...)
#include "compll/lang/operators.def"

/// An operator that is one call of the function with its name, in one stage.
Id plan_call(Staging& staging, const Term& term, const std::string& name);
/// `kth_largest`, which makes one element.
void plan_kth_largest(Staging& staging, const Term& term);

}  // namespace casync::compll::cuda_vector
