// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugins/c_api/casync.h"

namespace casync::tools {

/// The project's version, from CMake, and the number of the C interface it was built with.
constexpr const char* kVersion = CASYNC_VERSION_TEXT;
constexpr int kAbi = CASYNC_ABI_VERSION;

}  // namespace casync::tools
