// SPDX-License-Identifier: Apache-2.0
#include "base/allocation_count.h"

namespace casync {
namespace {

thread_local std::uint64_t allocations = 0;

}  // namespace

std::uint64_t allocations_of_this_thread() { return allocations; }

void count_allocation() { ++allocations; }

}  // namespace casync
