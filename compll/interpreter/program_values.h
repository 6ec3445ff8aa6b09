// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The values of a codec's parameters.
struct ProgramValues {
  std::vector<double> values;  ///< of the program's own, in their order
  bool feedback = false;
};

/// The program's values, with these instead of the initial ones.
/// InvalidArgument: a parameter that the program does not have, or a value out of its range.
Result<ProgramValues> values_for(const Program& program, std::span<const std::pair<std::string, double>> parameters);

/// The info that the program declares for its codec, parameters included.
CodecInfo declared_by(const Program& program, const ProgramValues& values);

}  // namespace casync::compll
