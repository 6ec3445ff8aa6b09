// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct WholeRoutine;

/// The memory where arrays are wanted, and copies of arrays. A scatter into an array begins as a copy of it, which the
/// loop that makes the array can write.
class WholePlaces {
 public:
  explicit WholePlaces(WholeRoutine& text) : text_(text) {}

  /// Finds the scatters into an array.
  void plan_scatters();
  /// Wants the array of this variable in memory at this place: a scatter makes it there.
  void want(VariableId id, const std::string& place) { places_.emplace(id, place); }
  /// The wanted place, at which the array is then made; empty if there is none.
  std::optional<std::string> take(std::optional<VariableId> id);
  /// Returns true if the array was made at its place.
  bool is_made(VariableId id) const { return made_.count(id) != 0; }

  /// Stores the array in its other places: the state that it becomes, and the array that begins as a copy of it.
  void begin_copies(VariableId id, const std::string& array);
  /// The memory that a scatter's variable begins in, where its copy is; empty if there is none. From then on it has the
  /// elements of no other variable.
  std::optional<std::string> take_copy(std::optional<VariableId> id);
  /// The array, or memory that has the same elements.
  std::string picked_from(const Term& variable, const std::string& array) const;

 private:
  void store(VariableId id, const std::string& array, const std::string& at, const std::string& type,
             const std::string& otherwise);

  WholeRoutine& text_;
  std::map<VariableId, std::string> places_;
  std::set<VariableId> made_;
  std::map<VariableId, std::vector<VariableId>> copies_;  ///< scatters that begin as a copy of a variable's array
  std::map<VariableId, std::string> copied_to_;           ///< memory where that copy is, for the scatter's variable
  std::map<VariableId, std::string> picked_from_;         ///< memory that has the same elements as a variable's array
};

}  // namespace casync::compll
