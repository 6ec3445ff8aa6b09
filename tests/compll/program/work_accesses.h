// SPDX-License-Identifier: Apache-2.0
//
// The memory that works of a launch read and write.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// The elements that a tile reads or writes: those of its share, or any.
enum class Share { kByPlaces, kByBlocks, kEqual, kAny };

/// Memory that addresses name: two addresses of one name may be the same.
struct MemoryName {
  Address::Base base = Address::Base::kWorkspace;
  std::size_t index = 0;
  bool operator==(const MemoryName&) const = default;
};

struct Access {
  MemoryName memory;
  Share share = Share::kAny;
  std::optional<Id> at = {};  ///< the elements at the places that this array has in the share
  bool writes = false;
  bool updates = false;  ///< what it reads there is of its own making

  bool is_of_one_tile(const Access& other) const {
    return share == other.share && at == other.at && share != Share::kAny;
  }
};

/// The accesses of a work, as the functions that kernels call make them.
std::vector<Access> accesses_of(const Routine& routine, const Work& work);

/// The word of a part of the workspace, or `state 0`.
std::string text_of(const Routine& routine, const MemoryName& memory);

}  // namespace casync::compll::cuda_vector
