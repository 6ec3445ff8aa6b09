// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

struct Staging;

/// Arrays: functions that compute elements where they are used, or memory. Values lie in the order of the program.
class Arrays {
 public:
  explicit Arrays(Staging& staging) : staging_(staging) {}

  /// Plans what the step's variables are given, unless nothing uses them or the array is changed where it lies.
  void plan_step(const compll::Step& step);
  /// Plans the arrays, reductions and searches of a term that no variable has: Routine::of_term has them then.
  void plan_term(const Term& term);
  /// Stores an array that is computed where it is used, at the address where its variable is wanted if there is one.
  /// Returns the array in memory.
  Id store(Id array, std::optional<VariableId> id);
  /// Stores an array that is read many times, if it is computed where it is used. From then on the term is that array.
  void store_computed(const Term& term);

 private:
  /// Plans the arguments of a term, and the values that its function reads.
  void plan_parts(const Term& term);
  /// Plans the array that a term makes, whose parts are planned. `id`: the variable that it is given to.
  Id plan_array(const Term& term, const std::string& name, std::optional<VariableId> id);
  /// Plans a map as its storage says; without a variable it is computed where it is used.
  Id plan_map(const Term& term, const std::string& name, std::optional<VariableId> id);
  /// Plans a result of a map as a function of an element.
  Id plan_function(const Term& term, std::size_t result, const std::string& name);
  /// Plans a map that is stored once.
  Id plan_stored_map(const Term& term, const std::string& name, std::optional<VariableId> id);

  Staging& staging_;
};

}  // namespace casync::compll::cuda_vector
