// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::tools {

/// Opens the device in a process that ends with it: this one may still fork. Call ahead of starting threads. Errors as
/// runtime::open_device.
Status check_device(const std::string& name);

}  // namespace casync::tools
