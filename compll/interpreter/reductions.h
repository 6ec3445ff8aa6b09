// SPDX-License-Identifier: Apache-2.0
//
// The order in which elements become one: lane i of 16 takes the elements i, i + 16, ... in turn; then the lanes are
// combined in halves, the one eight further up to the first eight, and so on. Every back end keeps to it.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "compll/lang/arithmetic.h"

namespace casync::compll {

inline constexpr std::size_t kReductionLanes = 16;

/// Lanes that begin with `identity`.
template <class Value, class Combine>
Value reduced_in_lanes(std::span<const Value> elements, Value identity, const Combine& combine) {
  std::array<Value, kReductionLanes> lanes;
  lanes.fill(identity);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    lanes[i % kReductionLanes] = combine(lanes[i % kReductionLanes], elements[i]);
  }
  for (std::size_t half = kReductionLanes / 2; half != 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

/// By the user's function, which has no identity: lanes begin with their first element, lanes without one are left
/// out, and the initial value comes first of all. Of nothing: the initial value.
template <class Combine>
Scalar reduced_by(const Combine& combine, Scalar initial, std::span<const Scalar> elements) {
  std::array<Scalar, kReductionLanes> lanes;
  const std::size_t used = std::min(elements.size(), kReductionLanes);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Scalar& lane = lanes[i % kReductionLanes];
    lane = i < kReductionLanes ? elements[i] : combine(lane, elements[i]);
  }
  for (std::size_t half = kReductionLanes / 2; half != 0; half /= 2) {
    for (std::size_t i = 0; i < half && i + half < used; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
  }
  return used == 0 ? initial : combine(initial, lanes[0]);
}

/// By one of the named reducers, of elements of this type.
Scalar reduced_by(Reducer reducer, ScalarType type, std::span<const Scalar> elements);

}  // namespace casync::compll
