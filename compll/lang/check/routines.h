// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/lang/check/code_checker.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// The functions of a file that the library calls: known by their parameters, two of them by their names. Null where
/// there is none.
struct Routines {
  const Function* encode = nullptr;
  const Function* merge = nullptr;
  const Function* decode = nullptr;
  const Function* result = nullptr;
  const Function* synchronize = nullptr;
};

/// Finds them; all others are declared, to be called by name.
Routines routines_of(const Tree& tree, CodeChecker& code);

void declare(const Function& function, CodeChecker& code);

}  // namespace casync::compll
