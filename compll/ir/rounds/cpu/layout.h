// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/rounds/cpu/arrays.h"
#include "compll/ir/rounds/cpu/plan.h"
#include "compll/ir/rounds/cpu/singles.h"

namespace casync::compll::cpu_turns {

/// Lays out the items of a turn, one after the other. All that it knows is in the plan.
struct Layout {
  explicit Layout(Turn& turn) : plan(turn) {}
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  void add(Item item) { plan.items.push_back(std::move(item)); }
  /// A new value: that of a variable, or one with the next of the temporaries' numbers.
  Id value_of(VariableId id);
  Id temporary(const std::string& word, const Type& type);
  /// Notes a loop over the array, if it has n elements, and the bytes that it writes.
  void note(const std::string& what, const Array& array, const Type& type, double written);
  [[noreturn]] static void refuse(const Term& term, const std::string& what);
  /// Refuses the operator of the term.
  [[noreturn]] static void refuse(const Term& term);

  Turn& plan;
  Singles singles{*this};
  Arrays arrays{*this};
};

}  // namespace casync::compll::cpu_turns
