// SPDX-License-Identifier: Apache-2.0
//
// The memory of transforms, from the loop that computes their operands to the last one that reads them.
#pragma once

#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// The arrays of one pass whose transforms are kept: how many, and that of each transform. A transform without later
/// uses passes its array on to the next one, which may be filled in the loop of that last use: a loop reads an element
/// ahead of writing it.
std::size_t place_transforms(const Pass& pass, std::map<ValueId, std::size_t>& array_of);

/// Places the transforms of all passes.
void place_transforms(CpuEncoder& plan);

}  // namespace casync::compll
