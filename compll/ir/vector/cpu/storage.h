// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

/// Chooses for each map if its elements are computed where they are used or once, into memory.
void choose_storage(Routine& plan);

/// Finds the maps whose operations sixteen doubles do not have, and those that are long.
void find_widths(Routine& plan);

/// Returns true if the function reads elements of other places.
bool reads_elsewhere(const Body& body);

}  // namespace casync::compll::cpu_vector
