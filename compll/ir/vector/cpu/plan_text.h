// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

/// The plan as text, a line for each item: what `compllc --emit=ir` prints. Names are those of the generated text.
std::string text_of(const Routine& plan);
std::string text_of(const Plan& plan);

}  // namespace casync::compll::cpu_vector
