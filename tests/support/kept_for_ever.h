// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/sanitizers.h"

#if CASYNC_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace casync::test {

/// While one lives, memory that its thread allocates, and all that this leads to, may be kept for ever: no leak is
/// reported of it.
#if CASYNC_ASAN
using KeptForEver = __lsan::ScopedDisabler;
#else
struct KeptForEver {
  KeptForEver() {}
};
#endif

}  // namespace casync::test
