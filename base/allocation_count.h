// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/sanitizers.h"

namespace casync {

/// The number of times that the calling thread has called operator new. Counts where base/counting_new.cc is linked
/// in (libcasync, the command, tests); elsewhere it stays 0.
std::uint64_t allocations_of_this_thread();

/// False where a sanitizer looks at operator new itself, and nothing is counted.
inline constexpr bool kAllocationsAreCounted = !CASYNC_SANITIZED;

/// For counting_new.cc.
void count_allocation();

}  // namespace casync
