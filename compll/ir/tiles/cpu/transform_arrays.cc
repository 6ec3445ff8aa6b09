// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/transform_arrays.h"

#include <algorithm>

namespace casync::compll {
namespace {

std::size_t last_loop_with(ValueId id, const Pass& pass) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < pass.phases.size(); ++i) {
    const std::vector<ValueId>& elements = pass.phases[i].elements;
    if (std::find(elements.begin(), elements.end(), id) != elements.end()) last = i;
  }
  return last;
}

}  // namespace

std::size_t place_transforms(const Pass& pass, std::map<ValueId, std::size_t>& array_of) {
  std::vector<std::size_t> held_until;  // the last loop that reads each array
  for (std::size_t i = 0; i < pass.phases.size(); ++i) {
    for (const ValueId id : pass.phases[i].transforms) {
      const auto free = std::find_if(held_until.begin(), held_until.end(), [&](std::size_t last) { return last <= i; });
      array_of[id] = static_cast<std::size_t>(free - held_until.begin());
      if (free == held_until.end()) held_until.push_back(0);
      held_until[array_of[id]] = last_loop_with(id, pass);
    }
  }
  return held_until.size();
}

void place_transforms(CpuEncoder& plan) {
  for (std::size_t i = 0; i < plan.passes.size(); ++i) {
    plan.passes[i].arrays = place_transforms(plan.schedule.passes[i], plan.passes[i].array_of);
  }
}

}  // namespace casync::compll
