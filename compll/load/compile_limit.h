// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"

namespace casync::compll {

/// Returns the seconds that a compiler may take for one text: CASYNC_COMPILE_SEC, 120 where it is not set.
/// InvalidArgument: it is no number, or out of its range.
Result<double> compile_seconds();

}  // namespace casync::compll
