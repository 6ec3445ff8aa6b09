// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/processors.h"

#include <algorithm>

namespace casync::tools {

std::vector<int> share_of(const std::vector<int>& processors, int index, int ranks) {
  const std::size_t count = processors.size();
  if (count == 0) return {};
  const std::size_t each = std::max<std::size_t>(1, count / static_cast<std::size_t>(std::max(ranks, 1)));
  const std::size_t first = static_cast<std::size_t>(index) * each % count;
  return {processors.begin() + static_cast<std::ptrdiff_t>(first),
          processors.begin() + static_cast<std::ptrdiff_t>(std::min(first + each, count))};
}

StayOn::StayOn(const std::vector<int>& processors) {
  CPU_ZERO(&before_);
  if (processors.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  changed_ = sched_setaffinity(0, sizeof set, &set) == 0;
}

StayOn::~StayOn() {
  if (changed_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace casync::tools
