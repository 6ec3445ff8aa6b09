// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// The plan as text, one loop below the other: a part of the output of `compllc --emit=ir`.
std::string text_of(const CudaTiles& plan);

/// The same of encode or merge, as far as passes have made it.
std::string text_of(const CudaEncoder& plan);

}  // namespace casync::compll
