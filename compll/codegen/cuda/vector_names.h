// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/program.h"

namespace casync::compll {

/// The names of sizes and parameters in text of the vector form.
struct CudaNames {
  static std::string parameter(ParameterId id) { return "settings.parameters[" + std::to_string(id) + "]"; }
  static std::string block_size(const Constant& constant);
  static std::string size(const Type& type);
  /// The declaration of n, which in a program that exchanges has rows and columns, too.
  static std::string declared_n(const Program& program);
  static bool is_of_blocks(const Type& type) { return type.is_over(Extent::Kind::kBlocks); }
  /// The share of an array that a tile has: equal shares if the array's size is computed.
  static std::string part_of(const Type& type);
};

}  // namespace casync::compll
