// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

struct Fusion;

/// Says if a value may read elements of an array from the copy that a scatter will change. A function that is applied
/// where its elements are used may not: that can be after the change. Nor may the one value of a scatter, which is
/// computed between the changes.
enum class FromCopies : std::uint8_t { kAllowed, kNever };

/// Single values, and functions of elements.
class Singles {
 public:
  explicit Singles(Fusion& fusion) : fusion_(fusion) {}

  /// Lays out what the value needs: the reductions in it, which are loops of their own, and arrays whose elements it
  /// reads.
  void prepare(const Term& term);
  /// Checks that a value can be written once that is there, and notes elements that are read from a copy. Throws
  /// CannotPlan.
  void check(const Term& term, FromCopies copies = FromCopies::kAllowed);
  /// The same for a function's steps and results.
  void check(const Body& body, FromCopies copies = FromCopies::kAllowed);
  /// The values of a scatter; empty if they are the same everywhere.
  std::optional<Id> values(const Term& scatter);
  /// Names a function of two elements, which a reduction or a sort takes.
  Id function(const Term& term);
  /// Names the function of a reduction that has one of its own.
  std::optional<Id> reducing_function(const Term& term);

 private:
  Id reduction(const Term& term, Id from);

  Fusion& fusion_;
};

/// Returns true if elements are reduced sixteen at a time, and not one by one.
bool reduces_groups(const Term& term);

}  // namespace casync::compll::cpu_vector
