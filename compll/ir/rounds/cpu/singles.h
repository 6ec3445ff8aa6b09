// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll::cpu_turns {

struct Layout;

/// Single values of a turn, and functions of elements.
class Singles {
 public:
  explicit Singles(Layout& layout) : layout_(layout) {}

  /// Lays out what a value needs ahead of it, and checks it.
  void lay_out(const Term& term);
  /// Lays out the reductions and searches in a value, which are loops of their own, and arrays of which it reads single
  /// elements.
  void hoist(const Term& term);
  /// The same for a function's steps and results.
  void hoist(const Body& body);
  /// Lays out the function and the initial value of a reduction that has one of the program's own.
  std::optional<Id> function_of(const Term& reduction);
  /// Refuses operators that the CPU does not have in functions of elements.
  void check(const Body& body) const;

 private:
  void check(const Term& term) const;
  /// Lays out the search for a `kth_largest`, whose k is laid out.
  void find(const Term& selection);

  Layout& layout_;
};

}  // namespace casync::compll::cpu_turns
