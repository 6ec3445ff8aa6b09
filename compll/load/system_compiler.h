// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace casync::compll {

/// The C++ compiler of this machine.
struct SystemCompiler {
  std::vector<std::string> command;  ///< its path, and the words that follow it in CXX
  std::string identity;              ///< changes when another one is installed
};

/// $CXX, else the first of c++, g++ and clang++ in PATH. Unavailable: there is none; says how to get one.
Result<SystemCompiler> find_compiler();

/// The flags for the text of a codec: one instruction set, the best that this processor and Highway share. The
/// arithmetic is the same as in the codecs that were compiled with the library.
std::vector<std::string> compiler_flags();

}  // namespace casync::compll
