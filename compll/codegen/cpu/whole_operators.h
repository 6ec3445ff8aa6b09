// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "compll/lang/program.h"

namespace casync::compll {

struct WholeRoutine;

/// Operators that make arrays in memory: each becomes a call, a part of the loop that is put off, or both.
class WholeOperators {
 public:
  explicit WholeOperators(WholeRoutine& text) : text_(text) {}

  /// `largest` and `kth_largest`: the loop collects candidates, and they are searched after it.
  void define_largest(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_where(const std::string& to, const Term& term);
  void define_sort(const std::string& to, const Term& term);
  /// Defines FUNCTION(count, array, more, memory), for an operator that goes through an array at once.
  void define_call(const std::string& to, const Term& term, const std::string& function, const std::string& more = "");
  void define_scatter(const std::string& to, const Term& term, std::optional<VariableId> id);
  /// Reduces each block to one element: in the tile's loop over blocks, after the phase that has their elements.
  void define_block_reduction(const std::string& to, const Term& term);
  /// Defines a function of blocks' values, which is computed once for each block.
  void define_block_values(const std::string& to, const std::string& from, const Term& term);
  void define_hadamard(const std::string& to, const Term& term);

 private:
  std::string whole_operand(const Term& term);
  std::string memory_of_scatter(const std::string& to, const Term& term, std::optional<VariableId> id);
  static std::string sum_text(const Term& scatter);
  void define_memory_of_blocks(const std::string& to, const Term& term);

  WholeRoutine& text_;
};

}  // namespace casync::compll
