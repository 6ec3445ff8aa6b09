// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compll/lang/program.h"

namespace casync::tools {

using ParameterValues = std::vector<std::pair<std::string, double>>;

/// Values of one parameter besides the one that it has: the ends of its range, one between them, and of a size of
/// blocks one that is no power of two; of a range without ends half and twice. At most four.
std::vector<double> other_values(const compll::ProgramParameter& parameter, double value);

/// Whether a parameter's declaration says more of its values than their type.
bool has_range(const compll::ProgramParameter& parameter);

/// The parameters of a program as they are given, each in turn with another value. `given` names some of them.
std::vector<ParameterValues> other_parameters(const compll::Program& program, const ParameterValues& given);

/// `block=48`: what the second has that the first has not.
std::string difference_in_words(const ParameterValues& given, const ParameterValues& other);

}  // namespace casync::tools
