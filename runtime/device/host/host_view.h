// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/device_memory.h"

namespace casync::runtime {

/// The bytes of memory that is known to be the host's.
inline View host_view(DeviceView view) { return {reinterpret_cast<std::byte*>(view.address()), view.size()}; }

}  // namespace casync::runtime
