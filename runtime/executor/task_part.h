// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/fetch.h"
#include "base/units.h"
#include "base/view.h"
#include "runtime/executor/kept_state.h"

namespace casync::runtime {

/// All that a task on the host needs of the gradient that it works on, in the step under way.
struct TaskPart {
  View data;  ///< the gradient's memory
  Elements elements = 0;
  std::uint64_t key = 0;
  DType dtype{};
  KeptState::Arrays kept;

  bool is_float32() const { return dtype == DType::kFloat32; }
  View memory(Slice slice) const {
    const Bytes width = bytes_of(dtype);
    return data.slice(slice.first * width, slice.count * width);
  }
  /// Fetches what a merge touches of a small gradient.
  void fetch() const {
    fetch_first<false>(data.data, data.size);
    const Bytes state = elements * sizeof(float);
    if (kept.in != 0) fetch_first<false>(reinterpret_cast<const void*>(kept.in), state);
    if (kept.out != 0) fetch_first<true>(reinterpret_cast<const void*>(kept.out), state);
  }
};

}  // namespace casync::runtime
