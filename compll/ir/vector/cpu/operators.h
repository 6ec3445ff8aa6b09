// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_whole {

struct Fusion;

/// Operators that make arrays in memory: each becomes a call, a part of the loop that is put off, or both.
class Operators {
 public:
  explicit Operators(Fusion& fusion) : fusion_(fusion) {}

  /// `largest` and `kth_largest`: the loop collects candidates, and they are searched after it.
  void define_largest(Id to, const Term& term, std::optional<VariableId> id);
  /// An operator that is one call of the function with its name.
  void define_call(Id to, const Term& term);
  void define_where(Id to, const Term& term);
  void define_sort(Id to, const Term& term);
  void define_scatter(Id to, const Term& term, std::optional<VariableId> id);
  /// Reduces each block to one element: in the tile's loop over blocks, after the phase that has their elements.
  void define_block_reduction(Id to, const Term& term);
  /// Computes a function of blocks' values once for each block.
  void define_block_values(Id to, Id from, const Term& term);
  void define_hadamard(Id to, const Term& term);

 private:
  Fusion& fusion_;
};

}  // namespace casync::compll::cpu_whole
