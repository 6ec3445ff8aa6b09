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

#include "compll/interpreter/array_operators.h"
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

/// One chunk, by lanes that begin with `identity`. `combine` replaces each value of one span by what it and the value
/// at the same place of another become; neighbouring lanes are given to it together.
template <class Value, class Combine>
Value reduced_in_lanes(std::span<const Value> elements, Value identity, const Combine& combine) {
  std::array<Value, kReductionLanes> all;
  all.fill(identity);
  const std::span<Value> lanes = all;
  for (std::size_t i = 0; i < elements.size(); i += kReductionLanes) {
    const auto row = elements.subspan(i, std::min(kReductionLanes, elements.size() - i));
    combine(lanes.first(row.size()), row);
  }
  for (std::size_t half = kReductionLanes / 2; half != 0; half /= 2) {
    combine(lanes.first(half), lanes.subspan(half, half));
  }
  return lanes[0];
}

/// One chunk that is not empty, without an identity: lanes begin with their first element, lanes without one are left
/// out.
template <class Combine>
Scalar reduced_in_lanes(std::span<const Scalar> elements, const Combine& combine) {
  std::array<Scalar, kReductionLanes> all;
  const std::size_t used = std::min(elements.size(), kReductionLanes);
  std::copy_n(elements.begin(), used, all.begin());
  const std::span<Scalar> lanes = all;
  for (std::size_t i = kReductionLanes; i < elements.size(); i += kReductionLanes) {
    const auto row = elements.subspan(i, std::min(kReductionLanes, elements.size() - i));
    combine(lanes.first(row.size()), row);
  }
  for (std::size_t half = kReductionLanes / 2; half != 0; half /= 2) {
    if (half < used)
      combine(lanes.first(std::min(half, used - half)), lanes.subspan(half, std::min(half, used - half)));
  }
  return lanes[0];
}

/// Reduces by the user's function, the initial value first of all. Of no elements: the initial value.
template <class Combine>
Scalar reduced_by(const Combine& combine, Scalar initial, std::span<const Scalar> elements) {
  if (elements.empty()) return initial;
  const auto reduce = [&](std::span<const Scalar> chunk) { return reduced_in_lanes(chunk, combine); };
  const Scalar reduced = reduced_in_chunks<Scalar>(elements, reduce);
  combine(std::span(&initial, 1), std::span(&reduced, 1));
  return initial;
}

/// Reduces elements of this type by one of the named reducers.
Scalar reduced_by(Reducer reducer, ScalarType type, std::span<const Scalar> elements);

/// Reduces elements as the call says: by its reducer, or by its function and the value in its second argument.
Scalar reduced(const ArrayCall& call, std::span<const Scalar> elements);

}  // namespace casync::compll
