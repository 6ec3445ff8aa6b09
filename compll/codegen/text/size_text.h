// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "compll/lang/program.h"

namespace casync::compll {

/// The names that a size's formula is written with.
struct SizeNames {
  std::function<std::string(ParameterId)> parameter;  ///< the value of a parameter, a double
  std::function<std::string(const Type&)> size;       ///< the number of elements of an array of this type
  std::string rows, columns;
};

/// The C++ expression of a size, by the functions of compll/ops/sizes.h: the same text for CPU and CUDA. Its type is
/// wide::Uint, or that of the term within the formula.
std::string size_text(const Term& size, const SizeNames& names);

}  // namespace casync::compll
