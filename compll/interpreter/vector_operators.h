// SPDX-License-Identifier: Apache-2.0
//
// The meaning of operators that are one call, in the plainest way there is: a function for each COMPLL_VECTOR of
// operators.def.
#pragma once

#include <vector>

#include "base/units.h"
#include "compll/lang/arithmetic.h"
#include "compll/lang/type.h"

namespace casync::compll {

/// The call of such an operator.
struct VectorCall {
  std::vector<std::vector<Scalar>> arguments;  ///< the elements of each array, or a single value
  std::vector<ScalarType> types;               ///< of their elements
  Elements count = 0;                          ///< the elements of the result
};

#define COMPLL_VECTOR(id, word, ...) std::vector<Scalar> word(const VectorCall& call);
#include "compll/lang/operators.def"

}  // namespace casync::compll
