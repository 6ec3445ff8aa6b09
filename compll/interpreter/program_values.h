// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// What a codec's parameters are.
struct ProgramValues {
  std::vector<double> values;  ///< of the program's own, in their order
  bool feedback = false;
};

/// The program's values, with these in the place of the initial ones.
/// InvalidArgument: a parameter that the program does not have, or a value out of its range.
Result<ProgramValues> values_for(const Program& program, std::span<const std::pair<std::string, double>> parameters);

/// What the program says about its codec, parameters included.
CodecInfo declared_by(const Program& program, const ProgramValues& values);

}  // namespace casync::compll
