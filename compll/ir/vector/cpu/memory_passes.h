// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

/// Counts the loops over all elements, and the bytes that each moves for an element.
void count_memory_passes(Routine& plan);

}  // namespace casync::compll::cpu_vector
