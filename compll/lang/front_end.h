// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "compll/lang/check/checker.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Compiles a source to its typed tree. InvalidArgument: its mistakes, with file, line, column and hint.
Result<Program> compile(const Source& source, const KnownParameters& known = {}, Known how = Known::kExact);

/// Returns true if the program has a function called `synchronize`, whatever other mistakes it has.
bool has_synchronize(const Source& source);

}  // namespace casync::compll
