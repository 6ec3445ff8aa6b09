// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

/// The loop over all elements that is put off until a step needs the whole of a result.
class OpenLoop {
 public:
  explicit OpenLoop(Routine& plan) : plan_(plan) {}

  /// Its number.
  int number() const { return loop_.number; }

  /// Adds work for each sixteen of this array.
  void add(ElementWork work, Id array) { join(std::move(work), level(array)); }
  /// Adds work at the very end of the loop, in its last phase.
  void add_last(ElementWork work, Id array);
  /// Adds work for a tile's blocks, after the phase of this level; `to` is there in the next one.
  void add_of_blocks(Id to, BlockWork work, std::size_t level, const Constant& block);
  /// Adds a call after the loop, which defines the variable if there is one.
  void add_behind(Call call, std::optional<VariableId> id);
  /// Ends the loop.
  void close();

  /// Returns true if a call after the loop defines the variable.
  bool awaits(VariableId id) const { return awaited_.count(id) != 0; }
  /// The phase that has an array's elements.
  std::size_t level(Id array) const;
  void set_level(Id array, std::size_t level);
  /// Notes that the loop stores an array in memory.
  void keep() { keeps_any_ = true; }
  bool keeps_any() const { return keeps_any_; }
  /// Takes the array for memory of n floats, which tiles fetch.
  void add_memory(Id array) { memories_.push_back(array); }

 private:
  void join(ElementWork work, std::size_t phase);
  void plan_fetches();

  Routine& plan_;
  ElementLoop loop_{1, 0, {}, {}, 0, {}};
  std::vector<Work> last_;
  std::vector<Call> behind_;
  std::set<VariableId> awaited_;     ///< variables that those calls define
  std::map<Id, std::size_t> level_;  ///< of arrays whose phase is not the first
  bool keeps_any_ = false;
  std::vector<Id> memories_;
};

}  // namespace casync::compll::cpu_vector
