// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/transport/ucx/networks.h"

namespace casync::runtime {

/// Asks UCX for the networks of this machine: RDMA devices, interfaces for TCP, shared memory. One that cannot be
/// opened (no permission, a port that is down, no room in /dev/shm) is left out. Takes some milliseconds.
std::vector<UcxResource> ucx_resources();

}  // namespace casync::runtime
