// SPDX-License-Identifier: Apache-2.0
//
// The plans of operators that make arrays in memory, in vector form on a CPU: each becomes a call, a part of the loop
// that is put off, or both. They lie in compll/ir/operators, beside those of the same operators for other targets.
#pragma once

#include <optional>

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

struct Fusion;

// For each COMPLL_ARRAY of operators.def a function that defines its array; `id`: the variable that it is given to.
#define COMPLL_ARRAY(operation, word, ...) \
  void define_##word(Fusion& fusion, Id to, const Term& term, std::optional<VariableId> id);
#define COMPLL_VECTOR(...)
#include "compll/lang/operators.def"

/// An operator that is one call of the function with its name.
void define_call(Fusion& fusion, Id to, const Term& term);
/// `largest` and `kth_largest`: the loop collects candidates, and they are searched after it.
void define_search(Fusion& fusion, Id to, const Term& term, std::optional<VariableId> id);
/// Computes a function of blocks' values once for each block.
void define_block_values(Fusion& fusion, Id to, Id from, const Term& term);

}  // namespace casync::compll::cpu_vector
