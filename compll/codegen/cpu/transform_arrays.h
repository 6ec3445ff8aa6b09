// SPDX-License-Identifier: Apache-2.0
//
// The memory of transforms, from the loop that computes their operands to the last one that reads them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compll/ir/tiles/schedule.h"

namespace casync::compll {

/// The arrays of one pass whose transforms are kept. A transform without later uses passes its array on to the next
/// one, which may be filled in the loop of that last use: a loop reads an element ahead of writing it.
class TransformArrays {
 public:
  explicit TransformArrays(const Pass& pass);

  std::size_t count() const { return held_until_.size(); }
  /// The name of an array, which no program's value has, and the name of this transform's array.
  static std::string name(std::size_t index) { return "turned" + std::to_string(index); }
  std::string of(ValueId transform) const { return name(arrays_.at(transform)); }

 private:
  std::map<ValueId, std::size_t> arrays_;
  std::vector<std::size_t> held_until_;  ///< the last loop that reads each array
};

}  // namespace casync::compll
