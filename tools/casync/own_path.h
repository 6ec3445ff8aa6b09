// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::tools {

/// Path of the running command. Unavailable: /proc/self/exe cannot be read, with the system's reason.
Result<std::string> own_path();

}  // namespace casync::tools
