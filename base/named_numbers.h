// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace casync {

/// A name with numbers of its own: how a codec is written on a command line and in CASYNC_CODEC.
struct NamedNumbers {
  std::string name;
  std::vector<std::pair<std::string, double>> numbers;  ///< in the order written; keys are unique
};

/// Reads "int4" or "int4:block=64,feedback=0".
/// InvalidArgument: no name, no "key=number" after the colon, a key twice, a number that is not finite.
Result<NamedNumbers> parse_named_numbers(std::string_view text);

}  // namespace casync
