// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "compll/cuda/driver_api.h"

namespace casync::compll {

/// Returns CUDA's driver, loaded at the first call, until the process ends. Unavailable, with the reason: it is not on
/// this machine, or it lacks a function.
Result<const DriverApi*> find_driver();

}  // namespace casync::compll
