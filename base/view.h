// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/units.h"

namespace casync {

/// Bytes of somebody else. A view never owns and never outlives its owner. slice() checks nothing: first + count is at
/// most size.
struct View {
  std::byte* data = nullptr;
  Bytes size = 0;
  View slice(Bytes first, Bytes count) const { return {data + first, count}; }
};

/// The same for bytes that are only read.
struct ConstView {
  const std::byte* data = nullptr;
  Bytes size = 0;
  ConstView() = default;
  ConstView(const std::byte* bytes, Bytes count) : data(bytes), size(count) {}
  ConstView(View view) : data(view.data), size(view.size) {}  // NOLINT(google-explicit-constructor)
  ConstView slice(Bytes first, Bytes count) const { return {data + first, count}; }
};

}  // namespace casync
