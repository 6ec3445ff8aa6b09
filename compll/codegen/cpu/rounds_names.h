// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/rounds/cpu/plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Sizes and places in the text of turns.
struct RoundsNames {
  /// The number of elements of a value.
  static std::string size(const Type& type);
  /// The length of a vector or a block.
  static std::string length(const Constant& constant);
  static std::string place(const cpu_turns::Place& place);
  /// The beginnings of a state and of a stored value, in floats.
  static std::string state(std::size_t index) { return "state" + std::to_string(index); }
  static std::string scratch(std::size_t index) { return "scratch" + std::to_string(index); }
};

}  // namespace casync::compll
