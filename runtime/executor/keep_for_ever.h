// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace casync::runtime {

/// Keeps a thing that a network, or a device that has failed or hangs, may still use, until the process ends. It stays
/// reachable, so that no checker calls it a leak. Any thread.
void keep_for_ever(std::shared_ptr<void> thing);

}  // namespace casync::runtime
