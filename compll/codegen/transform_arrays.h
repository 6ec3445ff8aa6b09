// SPDX-License-Identifier: Apache-2.0
//
// Which memory transforms lie in between the loop that makes what they take and the last one that looks at them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compll/ir/schedule.h"

namespace casync::compll {

/// Of one pass whose transforms are kept. One that no later loop looks at gives its array to the next one, which the
/// same loop may fill that looks at it last: a loop reads an element before it writes it.
class TransformArrays {
 public:
  explicit TransformArrays(const Pass& pass);

  std::size_t count() const { return held_until_.size(); }
  /// The name of an array, which no program's value has, and of the one of this transform.
  static std::string name(std::size_t index) { return "turned" + std::to_string(index); }
  std::string of(ValueId transform) const { return name(arrays_.at(transform)); }

 private:
  std::map<ValueId, std::size_t> arrays_;
  std::vector<std::size_t> held_until_;  ///< the last loop that looks at what an array holds
};

}  // namespace casync::compll
