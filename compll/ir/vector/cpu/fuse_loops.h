// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/vector/cpu/arrays.h"
#include "compll/ir/vector/cpu/copies.h"
#include "compll/ir/vector/cpu/open_loop.h"
#include "compll/ir/vector/cpu/plan.h"
#include "compll/ir/vector/cpu/singles.h"

namespace casync::compll::cpu_vector {

/// Lays out the items of a function: definitions, calls and loops. Work on all n elements is put off, so that one loop
/// does as much as it can: until a step needs the whole of a result. Throws CannotPlan.
void fuse_loops(Routine& plan);

/// The classes of one subject each that lay out the steps of a function.
struct Fusion {
  explicit Fusion(Routine& of) : plan(of) {}
  Fusion(const Fusion&) = delete;
  Fusion& operator=(const Fusion&) = delete;

  /// The value of a variable, and a new one that no variable has.
  Id value_of(VariableId id);
  Id temporary(const std::string& word, const Type& type = {});
  void add(Item&& item) { plan.add(std::move(item)); }
  /// Ends the loop if a term needs the whole of its results.
  void settle(const Term& term);
  [[noreturn]] static void refuse(Span at, const std::string& what);
  /// Refuses the operator of the term.
  [[noreturn]] static void refuse(const Term& term);

  Routine& plan;
  OpenLoop loop{plan};
  Copies copies{*this};
  Singles singles{*this};
  Arrays arrays{*this};
  /// True once elements of other places are read: then nothing may be overwritten until the end.
  bool picks_elements = false;

 private:
  std::uint32_t temporaries_ = 0;
};

}  // namespace casync::compll::cpu_vector
