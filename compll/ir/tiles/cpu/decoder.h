// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// Plans decode. Throws CannotPlan: a reduction.
CpuDecoder plan_cpu_decoder(const DecodeGraph& decode);

/// Plans result. Throws CannotPlan.
CpuResult plan_cpu_result(const ResultGraph& result);

}  // namespace casync::compll
