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

/// Returns true if a parameter's declaration restricts its values more than their type does.
bool has_range(const compll::ProgramParameter& parameter);

/// The parameters of a program as they are given, each in turn with another value. `given` names some of them.
std::vector<ParameterValues> other_parameters(const compll::Program& program, const ParameterValues& given);

/// The parameters of the second that the first lacks: `block=48`.
std::string difference_in_words(const ParameterValues& given, const ParameterValues& other);

}  // namespace casync::tools
