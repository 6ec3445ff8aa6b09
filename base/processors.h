// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync {

/// The processors that this thread may run on, ascending; empty: the system does not say.
std::vector<int> usable_processors();

/// "0,1,6"
std::string text_of(const std::vector<int>& processors);

/// So many of `ranks`, which may all run on the same `processors`, compete for each of them; at least one.
double ranks_per_processor(int ranks, std::size_t processors);

}  // namespace casync
