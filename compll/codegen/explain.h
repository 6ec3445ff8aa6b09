// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// The passes over memory that each function of the codec takes on the CPU and the bytes it moves for each element,
/// with the parameters' initial values and many elements, beside the least that its algorithm needs; and what keeps
/// them apart. Unimplemented: as cpu_text.
Result<std::string> explanation(const Program& program, const Source& source);

}  // namespace casync::compll
