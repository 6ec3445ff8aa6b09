// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "tests/bench/control_scale/job.h"

namespace casync::runtime::bench {

/// With how many ranks rank 0 exchanges messages in a step of `job`: the graphs of its gradients say so.
Result<int> data_peers(const Job& job);

}  // namespace casync::runtime::bench
