// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/type.h"

namespace casync::compll {

/// The C++ function that adds an element to another one, which is of the same type again.
std::string addition_text(ScalarType element);

}  // namespace casync::compll
