// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/program.h"

namespace casync::compll {

/// The names of sizes in text of the vector form.
struct VectorNames {
  static std::string in_parameters(ParameterId id) { return "parameter" + std::to_string(id); }
  static std::string block_size(const Constant& constant);
  /// The number of elements of a value.
  static std::string size(const Type& type);
};

}  // namespace casync::compll
