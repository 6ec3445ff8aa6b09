// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "compll/lang/checker.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// From a source to its typed tree. InvalidArgument: what is wrong with it, with file, line, column and hint.
Result<Program> compile(const Source& source, const KnownParameters& known = {}, Known how = Known::kExact);

/// Whether the program has a function called `synchronize`, whatever else is wrong with it.
bool has_synchronize(const Source& source);

}  // namespace casync::compll
