// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/ir/tiles/lower.h"
#include "compll/ir/tiles/schedule.h"

namespace casync::compll {

/// All outputs of encode or merge, if everything is kept.
std::vector<Output> outputs_of(const EncodeGraph& encode);
std::vector<Output> outputs_of(const ResultGraph& result);

std::vector<ValueId> values_of(const std::vector<Output>& outputs);

}  // namespace casync::compll
