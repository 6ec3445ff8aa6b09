// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "compll/lang/program.h"

namespace casync::compll {

struct WholeRoutine;

/// Arrays by name. A name is called with an index, of one element or of sixteen: it is a function that computes
/// elements where they are used, or memory.
class WholeArrays {
 public:
  explicit WholeArrays(WholeRoutine& text) : text_(text) {}

  /// The name of an array, after lines that define it if it has none.
  std::string array(const Term& term);
  /// The name of an array, after the loop that makes it.
  std::string whole_array(const Term& term);
  /// Defines an array under this name; `id`: the variable that it is given to.
  void define(const std::string& to, const Term& term, std::optional<VariableId> id);
  /// Defines the results of a map that has several.
  void define_rows(const Step& step);
  /// Takes a variable for another one under a new name.
  void rename(VariableId id, VariableId other);

 private:
  void define_map(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_function(const std::string& to, const Term& term);
  void define_gather(const std::string& to, const Term& term);
  void define_kept(const std::string& to, const std::string& from, const Type& type);
  void define_range(const std::string& to, const Term& term);
  void define_spread(const std::string& to, const Term& term);
  void draw_numbers(const Body& body);
  std::size_t cost(const Term& term) const;
  bool is_used_again(VariableId id, const Term& term) const;

  WholeRoutine& text_;
  std::map<VariableId, std::size_t> cost_;  ///< operations for an element of a variable's array
};

}  // namespace casync::compll
