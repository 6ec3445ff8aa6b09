// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// The plan as text, one launch after the other: a part of the output of `compllc --emit=ir`.
std::string text_of(const Plan& plan);
std::string text_of(const Turns& plan);

/// The same of one launch, as far as passes have made it.
std::string text_of(const Routine& plan);

}  // namespace casync::compll::cuda_vector
