// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync::compll {

/// A loop over all elements, and the bytes it moves for each.
struct Loop {
  std::string what;
  double read = 0, written = 0;
};

/// A function of a codec.
struct FunctionLoops {
  std::string name;
  std::vector<Loop> loops;
};

}  // namespace casync::compll
