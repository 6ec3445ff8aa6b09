// SPDX-License-Identifier: Apache-2.0
//
// The order in which elements become one. In a chunk of 4096 lane i of 16 takes the elements i, i + 16, ... in turn;
// then the lanes are combined in halves, the one eight further up to the first eight, and so on. What the chunks become
// is reduced the same way, until one is left: so chunks can be worked on apart. Every back end keeps to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "compll/lang/arithmetic.h"

namespace casync::compll {

inline constexpr std::size_t kReductionLanes = 16;
inline constexpr std::size_t kReductionChunk = 4096;

/// reduce(elements) where they are one chunk, else of what it gives for each.
template <class Value, class Reduce>
Value reduced_in_chunks(std::span<const Value> elements, const Reduce& reduce) {
  if (elements.size() <= kReductionChunk) return reduce(elements);
  std::vector<Value> results;
  for (std::size_t first = 0; first < elements.size(); first += kReductionChunk) {
    results.push_back(reduce(elements.subspan(first, std::min(kReductionChunk, elements.size() - first))));
  }
  return reduced_in_chunks<Value>(results, reduce);
}

/// One chunk, by lanes that begin with `identity`.
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

/// One chunk that is not empty, without an identity: lanes begin with their first element, lanes without one are left
/// out.
template <class Combine>
Scalar reduced_in_lanes(std::span<const Scalar> elements, const Combine& combine) {
  std::array<Scalar, kReductionLanes> lanes;
  const std::size_t used = std::min(elements.size(), kReductionLanes);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Scalar& lane = lanes[i % kReductionLanes];
    lane = i < kReductionLanes ? elements[i] : combine(lane, elements[i]);
  }
  for (std::size_t half = kReductionLanes / 2; half != 0; half /= 2) {
    for (std::size_t i = 0; i < half && i + half < used; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

/// Reduces by the user's function, the initial value first of all. Of no elements: the initial value.
template <class Combine>
Scalar reduced_by(const Combine& combine, Scalar initial, std::span<const Scalar> elements) {
  if (elements.empty()) return initial;
  const auto reduce = [&](std::span<const Scalar> chunk) { return reduced_in_lanes(chunk, combine); };
  return combine(initial, reduced_in_chunks<Scalar>(elements, reduce));
}

/// Reduces elements of this type by one of the named reducers.
Scalar reduced_by(Reducer reducer, ScalarType type, std::span<const Scalar> elements);

}  // namespace casync::compll
