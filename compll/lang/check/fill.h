// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "compll/lang/arithmetic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The value behind the last element of a selection, where it is known.
using Fill = std::optional<Scalar>;

/// The results of a function of elements whose arguments are these. Known are those that depend on nothing else. An
/// element outside of its array is 0.
std::vector<Fill> fills_of(const Body& body, const std::vector<Fill>& arguments);

/// Returns true if this integer is a place in no array: it is below zero, or 2^31 or above.
bool is_nowhere(Scalar place, ScalarType type);

}  // namespace casync::compll
