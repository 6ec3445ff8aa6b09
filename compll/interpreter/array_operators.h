// SPDX-License-Identifier: Apache-2.0
//
// The meaning of operators that make arrays, in the plainest way there is: a function for each COMPLL_ARRAY and each
// COMPLL_VECTOR of operators.def.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/units.h"
#include "compll/lang/arithmetic.h"
#include "compll/lang/element_count.h"
#include "compll/lang/program.h"
#include "compll/lang/type.h"

namespace casync::compll {

/// All elements of an array, or one.
using Values = std::vector<Scalar>;

Values values_of(std::span<const float> floats);
std::vector<float> floats_of(const Values& values);

/// The call of such an operator.
struct ArrayCall {
  std::vector<Values> arguments;  ///< the elements of each array, or a single value
  std::vector<ScalarType> types;  ///< of their elements
  Elements count = 0;             ///< the elements of the result
  ScalarType type = {};           ///< of the result's elements
  std::size_t block = 0;          ///< Term::block
  GradientShape shape = 0;        ///< of the gradient
  MatmulForm form = {};           ///< Term::form
  Reducer reducer = {};           ///< Term::reducer
  /// Applies the term's function, of two elements, to each pair; the results replace the first ones. Empty if it has
  /// none.
  std::function<void(std::span<Scalar> into, std::span<const Scalar> with)> apply = {};
};

#define COMPLL_ARRAY(id, word, ...) Values word(const ArrayCall& call);
#include "compll/lang/operators.def"

}  // namespace casync::compll
