// SPDX-License-Identifier: Apache-2.0
//
// Operators that pick and move elements, in the plainest way there is.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/units.h"
#include "compll/lang/arithmetic.h"

namespace casync::compll {

/// Op::kLargest: `count` places.
std::vector<Scalar> largest(std::span<const Scalar> keys, ScalarType type, Elements count);

/// Op::kKthLargest.
Scalar kth_largest(std::span<const Scalar> keys, ScalarType type, std::size_t k);

/// Op::kWhere: `count` places.
std::vector<Scalar> where(std::span<const Scalar> holds, Elements count);

/// Op::kSort, merging runs of 1, 2, 4, ... elements: whatever `goes_before` says, it ends and the order is the same
/// everywhere.
std::vector<Scalar> sorted(std::vector<Scalar> elements, const std::function<bool(Scalar, Scalar)>& goes_before);

/// Op::kHadamard.
std::vector<Scalar> hadamard(std::span<const Scalar> elements, std::size_t block);

}  // namespace casync::compll
