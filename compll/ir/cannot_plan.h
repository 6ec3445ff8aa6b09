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

/// Unimplemented: the program is only interpreted on `target`, with the place.
Status status_of(const CannotPlan& refusal, const Source& source, const std::string& target);

}  // namespace casync::compll
