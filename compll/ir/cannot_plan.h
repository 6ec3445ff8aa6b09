// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// Thrown by a pass and caught where the list of passes is: the target has no text for this part of the program.
struct CannotPlan {
  Span at;
  std::string what;  ///< "a section of doubles"
};

/// Unimplemented: this part of the program cannot be compiled, with the place. `how`: for which target and in which
/// form, "for CUDA by tiles"; a target without any says "for CUDA, only interpreted".
Status status_of(const CannotPlan& refusal, const Source& source, const std::string& how);

}  // namespace casync::compll
