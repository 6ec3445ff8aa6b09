// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/transform_arrays.h"

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

TransformArrays::TransformArrays(const Pass& pass) {
  for (std::size_t i = 0; i < pass.phases.size(); ++i) {
    for (const ValueId id : pass.phases[i].transforms) {
      const auto free =
          std::find_if(held_until_.begin(), held_until_.end(), [&](std::size_t last) { return last <= i; });
      arrays_[id] = static_cast<std::size_t>(free - held_until_.begin());
      if (free == held_until_.end()) held_until_.push_back(0);
      held_until_[arrays_[id]] = last_loop_with(id, pass);
    }
  }
}

}  // namespace casync::compll
