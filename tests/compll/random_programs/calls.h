// SPDX-License-Identifier: Apache-2.0
//
// Operators on whole arrays as tests use them: a form for random programs, and calls that the checker refuses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/compll/random_programs/expressions.h"

namespace casync::compll::test {

/// Steps of encode that are refused, the gradient being `g`, and the first message: LINE:COLUMN: MESSAGE.
struct RefusedCall {
  std::string steps, said;
};

/// An operator on arrays of floats that are never NaN.
struct CallForm {
  TypeWord type;       ///< of the result's elements
  bool has_size;       ///< the result has $size elements, else as many as $from
  bool of_selections;  ///< it takes as many elements as there are, too
  std::string text;
  std::vector<RefusedCall> refused;
};

std::span<const CallForm> call_forms();

}  // namespace casync::compll::test
