// SPDX-License-Identifier: Apache-2.0
//
// Lays out the items of a function in vector form, in the order of its steps. Work on all n elements does not become an
// item at once: it joins the open loop (open_loop.h), which closes when a step needs the whole of a result. An operator
// takes an array in one of three ways:
//
//   arrays.array()         for work that joins the open loop at the level of the array
//   arrays.whole_array()   for a call that goes through the array: the loop is closed, so all elements are there
//   loop.level() != 0      means that the open loop has yet to reduce or rotate blocks of the array: a call that may
//                          take the array otherwise closes the loop then
//
// A map that is computed where it is used may be computed after any later item. Therefore it reads no memory that a
// later item changes: not the copy that a scatter begins with (FromCopies). Neither does the one value of a scatter.
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
