// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/lane_room.h"

#include <algorithm>

namespace casync::runtime {

void LaneRoom::cover(const LaneRoom& other) {
  vectors = std::max(vectors, other.vectors);
  kernels = std::max(kernels, other.kernels);
  pinned = std::max(pinned, other.pinned);
  plain = std::max(plain, other.plain);
  terms = std::max(terms, other.terms);
  calls = std::max(calls, other.calls);
}

bool LaneRoom::covers(const LaneRoom& other) const {
  return vectors >= other.vectors && kernels >= other.kernels && pinned >= other.pinned && plain >= other.plain &&
         terms >= other.terms && calls >= other.calls;
}

void LaneRoom::add(const LaneRoom& other) {
  vectors += other.vectors;
  kernels += other.kernels;
  pinned += other.pinned;
  plain += other.plain;
  terms += other.terms;
  calls += other.calls;
}

}  // namespace casync::runtime
