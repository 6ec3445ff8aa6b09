// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace casync {

/// How often the calling thread has asked operator new for memory. Counts where base/counting_new.cc is linked
/// in (libcasync, the command, tests); elsewhere it stays 0.
std::uint64_t allocations_of_this_thread();

/// For counting_new.cc.
void count_allocation();

}  // namespace casync
