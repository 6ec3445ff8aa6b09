// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace casync::test {

/// While one lives, memory that its thread allocates, and all that this leads to, may be kept for ever: no leak is
/// reported of it.
#ifdef __SANITIZE_ADDRESS__
using KeptForEver = __lsan::ScopedDisabler;
#else
struct KeptForEver {
  KeptForEver() {}
};
#endif

}  // namespace casync::test
