// SPDX-License-Identifier: Apache-2.0
//
// The values of a block that are computed after one of its loops and used in another. The loops over the elements of
// all blocks that are worked on together come one after the other, so between them such values are kept in memory.
#pragma once

#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// Finds the values that loops save and load.
void hand_on_block_values(CpuEncoder& plan);

}  // namespace casync::compll
