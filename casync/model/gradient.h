// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/units.h"

namespace casync {

/// A gradient that is sent as a part of a group.
struct GroupMember {
  std::string name;
  std::vector<std::int64_t> shape;

  bool operator==(const GroupMember&) const = default;
};

/// A named tensor to be synchronized each step.
struct GradientSpec {
  std::string name;  ///< unique in the session; plans match it and errors quote it
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;        ///< in elements; {} is a scalar
  int priority = 0;                       ///< position in the next forward pass: smaller is needed sooner
  std::vector<GroupMember> members = {};  ///< a group (Plan::groups): the gradients in it, one after the other
  bool scattered = false;  ///< each rank gets the result of its own shard alone (strategies/reduce_scatter.h)

  Elements elements() const {
    Elements n = 1;
    for (std::int64_t extent : shape) n *= static_cast<Elements>(extent);
    return n;
  }
  Bytes bytes() const { return elements() * bytes_of(dtype); }
};

}  // namespace casync
