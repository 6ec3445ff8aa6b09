// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/code_checker.h"

#include <utility>

namespace casync::compll {

void CodeChecker::refuse(Span at, std::string message, std::string hint) {
  diagnostics.add(at, std::move(message), std::move(hint));
  throw CheckMistake();
}

void CodeChecker::count(Span at) {
  if (++checked_ <= kMostChecked) return;
  refuse(at, "the program becomes too large here", "call fewer functions inside of each other, repeat less often");
}

}  // namespace casync::compll
