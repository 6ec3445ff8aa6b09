// SPDX-License-Identifier: Apache-2.0
#include "base/processors.h"

#include <sched.h>

#include <algorithm>

namespace casync {

std::vector<int> usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> usable;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return usable;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) usable.push_back(processor);
  }
  return usable;
}

std::string text_of(const std::vector<int>& processors) {
  std::string text;
  for (const int processor : processors) text += (text.empty() ? "" : ",") + std::to_string(processor);
  return text;
}

double ranks_per_processor(int ranks, std::size_t processors) {
  if (processors == 0) return 1;
  return std::max(1.0, static_cast<double>(ranks) / static_cast<double>(processors));
}

}  // namespace casync
