// SPDX-License-Identifier: Apache-2.0
//
// The plans of operators that make arrays, in turns on a CPU. They lie in compll/ir/operators, beside those of the same
// operators for other targets.
#pragma once

#include <optional>

#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll::cpu_turns {

struct Layout;

// For each COMPLL_ARRAY of operators.def a function that defines its array as `to`, at a place if it is made in memory
// and wants one.
#define COMPLL_ARRAY(operation, word, ...) \
  Array define_##word(Layout& layout, const Term& term, Id to, const std::optional<Place>& place);
#define COMPLL_VECTOR(...)
#include "compll/lang/operators.def"

}  // namespace casync::compll::cpu_turns
