// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "compll/cuda/driver_api.h"

namespace casync::compll {

/// CUDA's driver, loaded when it is first asked for, until the process ends. Unavailable: it is not on this machine, or
/// it lacks a function; says why.
Result<const DriverApi*> find_driver();

}  // namespace casync::compll
