// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

struct Fusion;

/// Memory where arrays are wanted, and copies of arrays. A scatter into an array begins as a copy of it, which the loop
/// that makes the array can write.
class Copies {
 public:
  explicit Copies(Fusion& fusion) : fusion_(fusion) {}

  /// Wants the array of this variable in the memory of a state: a scatter makes it there.
  void want(VariableId id, std::size_t state) { states_.emplace(id, state); }
  /// The state in whose memory the variable's array is then made; empty if there is none.
  std::optional<std::size_t> take(std::optional<VariableId> id);
  /// Returns true if the array was made in that memory.
  bool is_made(VariableId id) const { return made_.count(id) != 0; }

  /// Stores the array in its other places: the state that it becomes, and the scatters that begin as a copy of it.
  void begin(VariableId id, Id array);
  /// Returns true if a scatter's memory has its copy. From then on it has the elements of no other variable.
  bool take_copy(std::optional<VariableId> id);
  /// The scatter whose memory has the same elements as a variable's array; empty if there is none.
  std::optional<Id> copy_of(const Term& variable) const;

 private:
  void store(VariableId id, Copy copy);

  Fusion& fusion_;
  std::map<VariableId, std::size_t> states_;
  std::set<VariableId> made_;
  std::set<VariableId> copied_;             ///< scatters whose memory has their copy
  std::map<VariableId, Id> same_elements_;  ///< the scatter whose memory has the same elements as a variable's array
};

}  // namespace casync::compll::cpu_vector
